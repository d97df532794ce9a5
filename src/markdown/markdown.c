/*
 * The callbacks of md4c append nodes. `open` has what is open, the innermost last; a frame without
 * a node is something of md4c's that the tree has not.
 */
#include "markdown/markdown.h"

#include <md4c.h>

enum {
    NO_NODE = -1,
    OWN_MAX = 16, /* bytes of text that is md4c's own */
};

struct open_part {
    long node;
    size_t from; /* where its text begins */
    char *refused; /* the address of what is no link; NULL: none */
};

struct builder {
    struct markdown *to;
    struct open_part open[MARKDOWN_DEPTH_MAX];
    size_t depth; /* also of what has no frame, as it is too deep */
    bool in_text; /* the last node is text that goes on */
    const struct str *from; /* what md4c reads */
};

/* ---- texts */

/* Appends text for all to read: newlines and tabs stay, other control characters become visible. */
static void add_clean(struct str *to, const char *text, size_t len)
{
    while (len > 0) {
        size_t n = 0;
        while (n < len && text[n] != '\n')
            n++;
        str_add_line(to, text, n);
        if (n < len)
            str_addc(to, '\n');
        n += n < len;
        text += n;
        len -= n;
    }
}

static const struct {
    const char *name, *text;
} entities[] = {
    {"amp", "&"},         {"lt", "<"},          {"gt", ">"},          {"quot", "\""},
    {"apos", "'"},        {"nbsp", "\u00a0"},   {"copy", "\u00a9"},   {"reg", "\u00ae"},
    {"trade", "\u2122"},  {"deg", "\u00b0"},    {"plusmn", "\u00b1"}, {"times", "\u00d7"},
    {"divide", "\u00f7"}, {"middot", "\u00b7"}, {"bull", "\u2022"},   {"hellip", "\u2026"},
    {"ndash", "\u2013"},  {"mdash", "\u2014"},  {"lsquo", "\u2018"},  {"rsquo", "\u2019"},
    {"ldquo", "\u201c"},  {"rdquo", "\u201d"},  {"laquo", "\u00ab"},  {"raquo", "\u00bb"},
    {"larr", "\u2190"},   {"uarr", "\u2191"},   {"rarr", "\u2192"},   {"darr", "\u2193"},
    {"le", "\u2264"},     {"ge", "\u2265"},     {"ne", "\u2260"},     {"asymp", "\u2248"},
    {"infin", "\u221e"},  {"sect", "\u00a7"},   {"para", "\u00b6"},   {"euro", "\u20ac"},
    {"micro", "\u00b5"},  {"frac12", "\u00bd"}, {"lbrace", "{"},      {"rbrace", "}"},
};

static void add_character(struct str *to, unsigned long c)
{
    char bytes[4];
    size_t len = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (size_t i = len; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(first[len] | c);
    add_clean(to, bytes, len);
}

/* Appends what an entity stands for; one that nobody knows stays as it is. */
static void add_entity(struct str *to, const char *text, size_t len)
{
    if (text[1] == '#') {
        bool hex = text[2] == 'x' || text[2] == 'X';
        unsigned long c = strtoul(text + 2 + hex, NULL, hex ? 16 : 10); /* it ends in ';' */
        bool good = c > 0 && c <= 0x10ffff && !(c >= 0xd800 && c <= 0xdfff);
        add_character(to, good ? c : 0xfffd);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (strlen(entities[i].name) == len - 2 &&
            memcmp(entities[i].name, text + 1, len - 2) == 0) {
            str_add(to, entities[i].text);
            return;
        }
    add_clean(to, text, len);
}

static void add_text(struct str *to, MD_TEXTTYPE type, const char *text, size_t len)
{
    if (type == MD_TEXT_NULLCHAR)
        str_add(to, "\ufffd");
    else if (type == MD_TEXT_BR || type == MD_TEXT_SOFTBR)
        str_addc(to, '\n');
    else if (type == MD_TEXT_ENTITY)
        add_entity(to, text, len);
    else
        add_clean(to, text, len);
}

static char *read_attribute(const MD_ATTRIBUTE *attribute)
{
    struct str text = STR_INIT;

    for (unsigned i = 0; attribute->size > 0 && attribute->substr_offsets[i] < attribute->size;
         i++) {
        unsigned from = attribute->substr_offsets[i];
        add_text(&text, attribute->substr_types[i], attribute->text + from,
                 attribute->substr_offsets[i + 1] - from);
    }
    return str_steal(&text);
}

/* Returns a safe address, or NULL if it must not be a link. */
static char *safe_address(const char *address)
{
    static const char *const schemes[] = {"https://", "http://", "mailto:"};
    struct str safe = STR_INIT;
    bool known = false;

    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        known = known || strncasecmp(address, schemes[i], strlen(schemes[i])) == 0;
    if (!known || strlen(address) > MARKDOWN_ADDRESS_MAX / 3)
        return NULL;
    for (; *address != '\0'; address++) {
        bool plain = *address > ' ' && *address < 0x7f && strchr("\"<>\\^`{|}", *address) == NULL;
        if (plain)
            str_addc(&safe, *address);
        else
            str_addf(&safe, "%%%02X", (unsigned)(unsigned char)*address);
    }
    return str_steal(&safe);
}

/* ---- nodes */

static struct markdown_node *push_node(struct builder *builder, enum markdown_kind kind,
                                       const char *text, size_t len)
{
    struct markdown *to = builder->to;

    to->nodes = mem_room(to->nodes, to->count, sizeof *to->nodes);
    struct markdown_node *node = &to->nodes[to->count++];
    str_addc(&to->texts, '\0'); /* the text before is whole */
    *node = (struct markdown_node){
        .kind = kind, .number = -1, .end = to->count, .text = to->texts.len, .len = len};
    str_addn(&to->texts, text, len);
    return node;
}

static bool is_in(const struct builder *builder, enum markdown_kind kind)
{
    for (size_t i = 0; i < builder->depth && i < MARKDOWN_DEPTH_MAX; i++)
        if (builder->open[i].node != NO_NODE &&
            builder->to->nodes[builder->open[i].node].kind == kind)
            return true;
    return false;
}

/* Returns the length of the address that a text begins with; 0: it begins with none. What ends a
 * sentence does not belong to it, nor does a bracket that opens before it. */
static size_t bare_address(const char *text)
{
    size_t scheme = str_starts(text, "https://") ? 8 : str_starts(text, "http://") ? 7 : 0;
    size_t len = scheme > 0 ? strcspn(text, " \t\n<>\"`") : 0;

    while (len > scheme && strchr(".,:;!?'*_~)]}", text[len - 1]) != NULL &&
           !(text[len - 1] == ')' && memchr(text, '(', len) != NULL))
        len--;
    return len > scheme && len <= MARKDOWN_ADDRESS_MAX / 3 ? len : 0;
}

/* Text is whole: makes links of the addresses in it. md4c does that, too, but enters and leaves
 * what stands around them in the wrong order. */
static void end_text(struct builder *builder)
{
    struct markdown *to = builder->to;

    if (!builder->in_text)
        return;
    builder->in_text = false;
    const struct markdown_node *node = &to->nodes[to->count - 1];
    if (strstr(markdown_text(to, node), "://") == NULL || is_in(builder, MARKDOWN_CODE) ||
        is_in(builder, MARKDOWN_TYPED) || is_in(builder, MARKDOWN_LINK))
        return;
    _cleanup_free_ char *text = mem_dup(markdown_text(to, node));
    to->texts.len = node->text - 1;
    to->count--;
    for (const char *from = text, *at = text; *from != '\0'; at++) {
        bool starts =
            to->count < MARKDOWN_NODES_MAX && (at == text || isalnum((unsigned char)at[-1]) == 0);
        size_t len = starts ? bare_address(at) : 0;
        if (len == 0 && *at != '\0')
            continue;
        if (at > from)
            (void)push_node(builder, MARKDOWN_TEXT, from, (size_t)(at - from));
        if (*at == '\0')
            return;
        _cleanup_free_ char *said = mem_dupn(at, len);
        _cleanup_free_ char *address = safe_address(said);
        push_node(builder, MARKDOWN_LINK, address, strlen(address))->end++;
        (void)push_node(builder, MARKDOWN_TEXT, said, len);
        from = at + len;
        at = from - 1;
    }
}

static struct markdown_node *add_node(struct builder *builder, enum markdown_kind kind,
                                      const char *text)
{
    end_text(builder);
    builder->in_text = kind == MARKDOWN_TEXT;
    return push_node(builder, kind, text, strlen(text));
}

static void put_text(struct builder *builder, MD_TEXTTYPE type, const char *text, size_t len)
{
    struct markdown *to = builder->to;

    if (!builder->in_text)
        (void)add_node(builder, MARKDOWN_TEXT, "");
    struct markdown_node *node = &to->nodes[to->count - 1];
    add_text(&to->texts, type, text, len);
    node->len = to->texts.len - node->text;
}

/* Opens a node, if it is not too deep. Takes `refused`. */
static struct markdown_node *enter(struct builder *builder, int kind, const char *text,
                                   char *refused)
{
    if (builder->depth++ >= MARKDOWN_DEPTH_MAX) {
        free(refused);
        return NULL;
    }
    struct open_part *part = &builder->open[builder->depth - 1];
    *part = (struct open_part){.node = NO_NODE, .from = builder->to->texts.len, .refused = refused};
    if (kind == NO_NODE)
        return NULL;
    end_text(builder);
    part->node = (long)builder->to->count;
    return add_node(builder, (enum markdown_kind)kind, text);
}

/* Returns true if all text from `from` on is `text`. */
static bool says(const struct markdown *to, size_t from, const char *text)
{
    const char *said = to->texts.data + from;

    said += from < to->texts.len && *said == '\0';
    return strcmp(said, text) == 0 && said + strlen(text) == to->texts.data + to->texts.len;
}

/* Behind text that is no link, or in a link that has none, stands the address. */
static void put_address(struct builder *builder, struct open_part *part)
{
    struct markdown *to = builder->to;

    if (part->refused != NULL && !says(to, part->from, part->refused)) {
        put_text(builder, MD_TEXT_NORMAL, " (", 2);
        put_text(builder, MD_TEXT_NORMAL, part->refused, strlen(part->refused));
        put_text(builder, MD_TEXT_NORMAL, ")", 1);
    } else if (part->node == (long)to->count - 1 && to->nodes[part->node].kind == MARKDOWN_LINK) {
        _cleanup_free_ char *address = mem_dup(markdown_text(to, &to->nodes[part->node]));
        put_text(builder, MD_TEXT_NORMAL, address, strlen(address));
    }
}

/* Fails if nothing is open: libmd4c 0.4.8 may leave spans that it has not entered. */
static int leave(struct builder *builder)
{
    struct markdown *to = builder->to;

    if (builder->depth == 0)
        return 1;
    if (builder->depth <= MARKDOWN_DEPTH_MAX) {
        struct open_part *part = &builder->open[builder->depth - 1];
        put_address(builder, part);
        free(TAKE_PTR(part->refused));
        if (part->node != NO_NODE) {
            end_text(builder);
            to->nodes[part->node].end = to->count;
        }
    }
    builder->depth--;
    return to->count > MARKDOWN_NODES_MAX;
}

/* ---- blocks */

static const signed char blocks[] = {
    [MD_BLOCK_DOC] = MARKDOWN_DOCUMENT, [MD_BLOCK_QUOTE] = MARKDOWN_QUOTE,
    [MD_BLOCK_UL] = MARKDOWN_LIST,      [MD_BLOCK_OL] = MARKDOWN_LIST,
    [MD_BLOCK_LI] = MARKDOWN_ITEM,      [MD_BLOCK_HR] = MARKDOWN_RULE,
    [MD_BLOCK_H] = MARKDOWN_HEADING,    [MD_BLOCK_CODE] = MARKDOWN_CODE,
    [MD_BLOCK_HTML] = NO_NODE,          [MD_BLOCK_P] = MARKDOWN_PARAGRAPH,
    [MD_BLOCK_TABLE] = MARKDOWN_TABLE,  [MD_BLOCK_THEAD] = NO_NODE,
    [MD_BLOCK_TBODY] = NO_NODE,         [MD_BLOCK_TR] = MARKDOWN_ROW,
    [MD_BLOCK_TH] = MARKDOWN_CELL,      [MD_BLOCK_TD] = MARKDOWN_CELL,
};

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    struct builder *builder = arg;
    _cleanup_free_ char *language =
        type == MD_BLOCK_CODE ? read_attribute(&((MD_BLOCK_CODE_DETAIL *)detail)->lang) : NULL;
    struct markdown_node *node =
        enter(builder, blocks[type], language != NULL ? language : "", NULL);

    if (node == NULL)
        return 0;
    if (type == MD_BLOCK_H)
        node->number = (int)((MD_BLOCK_H_DETAIL *)detail)->level;
    else if (type == MD_BLOCK_OL) {
        node->number = (int)((MD_BLOCK_OL_DETAIL *)detail)->start;
        node->loose = ((MD_BLOCK_OL_DETAIL *)detail)->is_tight == 0;
    } else if (type == MD_BLOCK_UL)
        node->loose = ((MD_BLOCK_UL_DETAIL *)detail)->is_tight == 0;
    else if (type == MD_BLOCK_TH || type == MD_BLOCK_TD)
        node->align = (enum markdown_align)((MD_BLOCK_TD_DETAIL *)detail)->align;
    return builder->to->count > MARKDOWN_NODES_MAX;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
    (void)type;
    (void)detail;
    return leave(arg);
}

/* ---- in a line */

static void enter_link(struct builder *builder, const MD_ATTRIBUTE *where)
{
    _cleanup_free_ char *address = read_attribute(where);
    _cleanup_free_ char *safe = safe_address(address);

    if (safe != NULL &&
        !is_in(builder, MARKDOWN_LINK)) /* of a picture in a link the text is enough */
        (void)enter(builder, MARKDOWN_LINK, safe, NULL);
    else
        (void)enter(builder, NO_NODE, "", safe == NULL ? TAKE_PTR(address) : NULL);
}

static int enter_span(MD_SPANTYPE type, void *detail, void *arg)
{
    struct builder *builder = arg;

    if (type == MD_SPAN_A)
        enter_link(builder, &((MD_SPAN_A_DETAIL *)detail)->href);
    else if (type == MD_SPAN_IMG)
        enter_link(builder, &((MD_SPAN_IMG_DETAIL *)detail)->src);
    else
        (void)enter(builder,
                    type == MD_SPAN_EM       ? MARKDOWN_EMPHASIS
                    : type == MD_SPAN_STRONG ? MARKDOWN_STRONG
                    : type == MD_SPAN_CODE   ? MARKDOWN_TYPED
                                             : NO_NODE,
                    "", NULL);
    return builder->to->count > MARKDOWN_NODES_MAX;
}

static int leave_span(MD_SPANTYPE type, void *detail, void *arg)
{
    (void)type;
    (void)detail;
    return leave(arg);
}

/* It may also say of text that it is longer than there is. What is not in the text is a blank or a
 * newline of md4c's own. */
static bool is_there(const struct str *from, const char *text, size_t len)
{
    uintptr_t start = (uintptr_t)from->data, at = (uintptr_t)text;

    if (at < start || at > start + from->len)
        return len <= OWN_MAX;
    return len <= start + from->len - at;
}

static int on_text(MD_TEXTTYPE type, const char *text, MD_SIZE len, void *arg)
{
    struct builder *builder = arg;

    if (!is_there(builder->from, text, len))
        return 1;
    put_text(builder, type, text, len);
    return builder->to->count > MARKDOWN_NODES_MAX;
}

/* ---- the tree */

/* Makes one paragraph of a text, as it is. */
static void put_plain(struct builder *builder, const char *text, size_t len)
{
    builder->to->count = 0;
    str_clear(&builder->to->texts);
    builder->depth = 0;
    builder->in_text = false;
    (void)enter(builder, MARKDOWN_DOCUMENT, "", NULL);
    (void)enter(builder, MARKDOWN_PARAGRAPH, "", NULL);
    put_text(builder, MD_TEXT_NORMAL, text, len);
    (void)leave(builder);
    (void)leave(builder);
}

void markdown_parse(struct markdown *ret, const char *text, size_t len)
{
    static const MD_PARSER parser = {.flags = MD_FLAG_NOHTML | MD_FLAG_TABLES,
                                     .enter_block = enter_block,
                                     .leave_block = leave_block,
                                     .enter_span = enter_span,
                                     .leave_span = leave_span,
                                     .text = on_text};
    _cleanup_str_ struct str from = STR_INIT;
    struct builder builder = {.to = ret, .from = &from};

    ret->count = 0;
    str_clear(&ret->texts);
    str_add_without_nul(&from, text, len);
    if (len <= MARKDOWN_BYTES_MAX &&
        md_parse(str_text(&from), (MD_SIZE)from.len, &parser, &builder) == 0)
        return;
    for (size_t i = 0; i < builder.depth && i < MARKDOWN_DEPTH_MAX; i++)
        free(builder.open[i].refused);
    put_plain(&builder, str_text(&from), from.len);
}

void markdown_free(struct markdown *markdown)
{
    free(markdown->nodes);
    str_free(&markdown->texts);
    *markdown = (struct markdown){.count = 0};
}

const char *markdown_text(const struct markdown *markdown, const struct markdown_node *node)
{
    return markdown->texts.data + node->text;
}
