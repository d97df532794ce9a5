# Draws what terminals show, as `tmux capture-pane -e -p` prints it, as one SVG that moves.
#
#   LC_ALL=C awk -v columns=100 -v heights="14 16" -v total=20000 -f svg.awk at=0 FILE at=1500 FILE ...
#       the screens of all terminals are in each FILE, one behind the other
#
# The terminals stand one below the other, `heights` rows high. A row is drawn once for as long as it
# stays the same, `at` says from when; it all takes `total` ms and begins again. Where nothing
# moves (print, reduced motion) the last screens are seen.
#
# Knows what such a capture holds: UTF-8, SGR (colours, bold, dim, reverse) and line-drawing
# characters, which become lines so that they join in every font.

BEGIN {
    W = 8.43; H = 18; SIZE = 14  # of a cell, and of the letters
    PAD = 12; BAR = 26; GAP = 16  # around a screen, above it, between two
    BACK = "#16181d"; TEXT = "#d7dae0"
    split("#3b4048 #e06c75 #8cc570 #e5c07b #61afef #c678dd #56b6c2 #d7dae0", normal, " ")
    split("#5c6370 #ff7a85 #a5e075 #ffd68a #7cc0ff #d99af0 #6fd3e0 #ffffff", bright, " ")
    for (i = 0; i < 256; i++) code[sprintf("%c", i)] = i
    # arms of the line-drawing characters by their last two bytes: left, right, up, down
    split("148 128 1100 148 130 0011 148 140 0101 148 144 1001 148 148 0110 148 152 1010 " \
          "148 156 0111 148 164 1011 148 172 1101 148 180 1110 148 188 1111", part, " ")
    for (i = 1; i in part; i += 3) arms[part[i] "," part[i + 1]] = part[i + 2]
    windows = split(heights, height, " ")
    WIDTH = int(columns * W + 2 * PAD + 0.5)
    for (i = 1; i <= windows; i++) {
        top[i] = TALL
        TALL += BAR + height[i] * H + PAD + (i < windows ? GAP : 0)
    }
}

function reset() { fg = ""; bg = ""; bold = dim = reverse = 0 }

function colour(n) { return n < 8 ? normal[n + 1] : n < 16 ? bright[n - 7] : indexed(n) }

function indexed(n, level) {
    if (n >= 232) { level = 8 + 10 * (n - 232); return sprintf("#%02x%02x%02x", level, level, level) }
    n -= 16
    return sprintf("#%02x%02x%02x", step(int(n / 36)), step(int(n / 6) % 6), step(n % 6))
}

function step(n) { return n == 0 ? 0 : 55 + 40 * n }

# One SGR sequence's numbers.
function style(list, p, n, i, c) {
    n = split(list == "" ? "0" : list, p, /[;:]/)
    for (i = 1; i <= n; i++) {
        c = p[i] + 0
        if (c == 0) reset()
        else if (c == 1) bold = 1
        else if (c == 2) dim = 1
        else if (c == 7) reverse = 1
        else if (c == 22) bold = dim = 0
        else if (c == 27) reverse = 0
        else if (c >= 30 && c <= 37) fg = colour(c - 30)
        else if (c == 39) fg = ""
        else if (c >= 40 && c <= 47) bg = colour(c - 40)
        else if (c == 49) bg = ""
        else if (c >= 90 && c <= 97) fg = colour(c - 82)
        else if (c >= 100 && c <= 107) bg = colour(c - 92)
        else if ((c == 38 || c == 48) && p[i + 1] == 5) {
            if (c == 38) fg = colour(p[i + 2] + 0); else bg = colour(p[i + 2] + 0)
            i += 2
        } else if ((c == 38 || c == 48) && p[i + 1] == 2) {
            if (c == 38) fg = sprintf("#%02x%02x%02x", p[i + 2], p[i + 3], p[i + 4])
            else bg = sprintf("#%02x%02x%02x", p[i + 2], p[i + 3], p[i + 4])
            i += 4
        }
    }
}

# Puts the cells of a line into glyph[], fore[], back[], faint[], heavy[]; returns how many.
function cells(line, n, at, c, len, b) {
    n = 0
    for (at = 1; at <= length(line); at += len) {
        c = substr(line, at, 1)
        len = 1
        if (c == "\033") {
            if (match(substr(line, at), /^\033\[[0-9;:]*m/)) {
                len = RLENGTH
                style(substr(line, at + 2, len - 3))
            } else if (match(substr(line, at), /^\033(\[[0-9;?]*[A-Za-z]|\][^\033]*\033\\|.)/))
                len = RLENGTH
            continue
        }
        b = code[c]
        if (b < 32) continue
        len = b >= 240 ? 4 : b >= 224 ? 3 : b >= 192 ? 2 : 1
        glyph[n] = substr(line, at, len)
        fore[n] = reverse ? (bg == "" ? BACK : bg) : fg
        back[n] = reverse ? (fg == "" ? TEXT : fg) : bg
        faint[n] = dim; heavy[n] = bold
        n++
    }
    return n
}

function escape(text) {
    gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
    return text
}

function arms_of(g) {
    if (length(g) != 3 || code[substr(g, 1, 1)] != 226) return ""
    return arms[code[substr(g, 2, 1)] "," code[substr(g, 3, 1)]]
}

function num(x) { return sprintf("%.2f", x) + 0 }

function draw(n, row, i, j, x, y, text, a, stroke, d) {
    for (i = 0; i < n; i = j) {  # backgrounds
        for (j = i + 1; j < n && back[j] == back[i]; j++) ;
        if (back[i] != "")
            body = body sprintf("<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%d\" fill=\"%s\"/>\n",
                num(PAD + i * W), row * H, num((j - i) * W), H, back[i])
    }
    for (i = 0; i < n; i = j) {  # lines
        j = i + 1
        if (arms_of(glyph[i]) == "") continue
        stroke = fore[i]; d = ""
        for (j = i; j < n && (a = arms_of(glyph[j])) != "" && fore[j] == stroke; j++) {
            x = PAD + (j + 0.5) * W; y = (row + 0.5) * H
            if (a ~ /^11/) d = d "M" num(x - W / 2) " " num(y) "h" num(W)
            else if (a ~ /^1/) d = d "M" num(x - W / 2) " " num(y) "h" num(W / 2)
            else if (a ~ /^.1/) d = d "M" num(x) " " num(y) "h" num(W / 2)
            if (a ~ /11$/) d = d "M" num(x) " " num(y - H / 2) "v" H
            else if (a ~ /1.$/) d = d "M" num(x) " " num(y - H / 2) "v" num(H / 2)
            else if (a ~ /1$/) d = d "M" num(x) " " num(y) "v" num(H / 2)
        }
        body = body "<path d=\"" d "\" stroke=\"" (stroke == "" ? TEXT : stroke) "\"/>\n"
    }
    for (i = 0; i < n; i = j) {  # words of one style, single blanks included
        j = i + 1
        if (glyph[i] == " " || arms_of(glyph[i]) != "") continue
        text = glyph[i]
        for (; j < n && fore[j] == fore[i] && faint[j] == faint[i] && heavy[j] == heavy[i] &&
               arms_of(glyph[j]) == "" && !(glyph[j] == " " && (j + 1 == n || glyph[j + 1] == " ")); j++)
            text = text glyph[j]
        body = body sprintf("<text x=\"%s\" y=\"%s\" textLength=\"%s\"%s%s%s>%s</text>\n",
            num(PAD + i * W), num((row + 0.72) * H), num((j - i) * W),
            fore[i] == "" ? "" : " fill=\"" fore[i] "\"", faint[i] ? " opacity=\".6\"" : "",
            heavy[i] ? " font-weight=\"bold\"" : "", escape(text))
    }
}

# The row is on the screen of this window from `at` on.
function show(window, row, text) {
    if (shown[window, row] == text) return
    hide(window, row, at)
    shown[window, row] = text
    since[window, row] = at
}

function hide(window, row, until, name, begin, end) {
    if (shown[window, row] == "" || since[window, row] == until) return
    name = since[window, row] "," until
    if (!(name in span)) {
        span[name] = "t" ++spans
        begin = since[window, row] == 0 ? "" : "0%{visibility:hidden}"
        begin = begin num(100 * since[window, row] / total) "%{visibility:visible}"
        end = until == total ? "" : num(100 * until / total) "%,to{visibility:hidden}"
        rules = rules sprintf("g.%s{animation-name:%s%s}@keyframes %s{%s%s}\n", span[name], span[name],
            until == total ? ";visibility:visible" : "", span[name], begin, end)
    }
    drawn[window] = drawn[window] "<g class=\"" span[name] "\">\n" shown[window, row] "</g>\n"
}

FNR == 1 { w = 1; row = 0; reset() }
{
    if (row == height[w]) { w++; row = 0; reset() }
    body = ""
    draw(cells($0), row++)
    show(w, row, body)
}
END {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" " \
        "font-family=\"'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace\" " \
        "font-size=\"%d\" fill=\"%s\" stroke-width=\"1.2\">\n", WIDTH, TALL, WIDTH, SIZE, TEXT
    for (w = 1; w <= windows; w++)
        for (i = 1; i <= height[w]; i++) hide(w, i, total)
    printf "<style>g[class]{visibility:hidden;animation:%dms step-end infinite}\n%s" \
        "@media(prefers-reduced-motion:reduce){g[class]{animation:none}}</style>\n", total, rules
    for (w = 1; w <= windows; w++) {
        printf "<g transform=\"translate(0 %d)\">\n<rect x=\".5\" y=\".5\" width=\"%d\" height=\"%d\" " \
            "rx=\"8\" fill=\"%s\" stroke=\"#3b4048\"/>\n",
            top[w], WIDTH - 1, BAR + height[w] * H + PAD - 1, BACK
        for (i = 0; i < 3; i++) printf "<circle cx=\"%d\" cy=\"13\" r=\"5\" fill=\"#3b4048\"/>\n", 18 + 18 * i
        printf "<g transform=\"translate(0 %d)\">\n%s</g>\n</g>\n", BAR, drawn[w]
    }
    print "</svg>"
}
