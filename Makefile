# mas. The knobs are in config.mk; sources are found by themselves.
#
#   make [DEV=1] [SAN=address,undefined]   build/mas (build/san/mas)
#   make install | install-strip | uninstall
#                                          [PREFIX=/usr/local] [DESTDIR=] [WITH_SERVE=0] [WITH_TOP=0] [WITH_WALL=0]
#   make dist | deb                        build/mas-VERSION.tar.gz of the commit | its Debian packages
#   make test | check [PART=rest] [SINCE=COMMIT]   all tests, fault injection in its quick form; or only
#                                          those that are left out with SAN; without machines,
#                                          browsers and faults if what they test is as in COMMIT,
#                                          and without those that reach nothing that has changed:
#                                          test/reach/choose.py
#   make test-unit | test-cli | test-host | test-acp | test-serve | test-fault
#                                          a part of them; test-fault is the full run
#   make test-fleet [TEST_FLEET=full]      four machines out of namespaces, as root: test/fleet/README.md;
#                                          with what takes minutes
#   make test-agents [AGENTS=claude]       real agents, from end to end: test/agents/run.sh
#   make mutants [SINCE=COMMIT] [ONLY=WORD] [SECONDS=N]
#                                          mistakes that a test has to notice: test/mutants/run.py
#   make sweep FILES='src/code/diff.c' [TESTS='unit/test_diff']
#                                          all small mistakes of a kind in some sources, and which
#                                          of them no unit test, or none of TESTS, notices:
#                                          test/mutants/sweep.py
#   make check-all                         what CI checks, and all that is slow or rare
#   make lint [SINCE=COMMIT] | format      check the style and the rules, with SINCE by the slow
#                                          checks only what changed | put the format right
#   make bench | fuzz                      [FUZZ_SECONDS=20]
#   make site                              the documents and manual pages as HTML, in build/site
#   make clean

include config.mk

BUILD ?= $(if $(SAN),build/san,build)

# Floors of the house, lowest first; `make lint` checks who includes whom.
FLOORS := base os model store git code wall tmux protocol memory client session fleet host editor cli cmd

SRC := $(sort $(wildcard src/*.c $(FLOORS:%=src/%/*.c) $(FLOORS:%=src/%/*/*.c)))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB_OBJ := $(filter-out $(BUILD)/src/main.o,$(OBJ))
SERVE_SRC := $(sort $(wildcard src/serve/*.c))
SERVE_OBJ := $(SERVE_SRC:%.c=$(BUILD)/%.o)
SERVE_LIB := $(filter-out $(BUILD)/src/serve/main.o,$(SERVE_OBJ))
ARCHIVE_SRC := $(sort $(wildcard src/archive/*.c))
ARCHIVE_OBJ := $(ARCHIVE_SRC:%.c=$(BUILD)/%.o)
ARCHIVE_LIB := $(filter-out $(BUILD)/src/archive/main.o,$(ARCHIVE_OBJ))
CHAT_SRC := $(sort $(wildcard src/chat/*.c))
CHAT_OBJ := $(CHAT_SRC:%.c=$(BUILD)/%.o)
TOP_SRC := $(sort $(wildcard src/top/*.c))
TOP_OBJ := $(TOP_SRC:%.c=$(BUILD)/%.o)
TOP_LIB := $(filter-out $(BUILD)/src/top/main.o,$(TOP_OBJ))
MARKDOWN_SRC := $(sort $(wildcard src/markdown/*.c))
MARKDOWN_OBJ := $(MARKDOWN_SRC:%.c=$(BUILD)/%.o)
FILTER_SRC := $(sort $(wildcard src/filter/*.c))
FILTER_OBJ := $(FILTER_SRC:%.c=$(BUILD)/%.o)
ENTER_SRC := $(sort $(wildcard src/enter/*.c))
ENTER_OBJ := $(ENTER_SRC:%.c=$(BUILD)/%.o)
TOLD_SRC := $(sort $(wildcard src/told/*.c))
TOLD_OBJ := $(TOLD_SRC:%.c=$(BUILD)/%.o)
NETWORK_SRC := $(sort $(wildcard src/network/*.c))
NETWORK_OBJ := $(NETWORK_SRC:%.c=$(BUILD)/%.o)
UNIT_SRC := $(sort $(wildcard test/unit/test_*.c))
UNIT := $(UNIT_SRC:%.c=$(BUILD)/%)
TEST_UNIT := $(UNIT)
TOOLS_SRC := $(sort $(wildcard test/tools/*.c))
TOOLS := $(TOOLS_SRC:%.c=$(BUILD)/%)
CLOCK := $(BUILD)/test/fleet/clock.so
FUZZ_SRC := $(sort $(wildcard test/fuzz/fuzz_*.c))
FUZZ := $(FUZZ_SRC:%.c=$(BUILD)/%)
CLI_BATS := $(sort $(wildcard test/cli/*.bats))
SERVE_BATS := $(sort $(wildcard test/serve/*.bats))
HOST_BATS := $(sort $(wildcard test/host/*.bats test/wall/*.bats))
ACP_BATS := $(sort $(wildcard test/acp/*.bats))
FAULT_BATS := $(sort $(wildcard test/fault/*.bats))
FLEET_BATS := $(sort $(wildcard test/fleet/*.bats))
# Sanitizers where memory is at risk: unit tests, hosts, walls, serve, chat, and the verbs that parse what is
# hostile or draw screens. Around every start of `mas` in a shell's loop they cost twice the time and see the
# same code again; kills, documents, scripts, machines and browsers show them nothing. PART=rest is what a run
# under sanitizers leaves out, so that both, as in .ci/run, have every test: files, and of others those tests that
# ask $TEST_SAN, as they have checks, such as of memory, speed and filters, that a sanitizer leaves out.
SAN_CLI := $(patsubst %,test/cli/%.bats,all-hosts archive archive-live ask config context diff history hostile \
    hostile-agent index links logs lost memory merge presets project-hostile restore review search set status \
    stranger template-check top usage vectors)
NO_SAN_HOST := $(patsubst %,test/host/%.bats,ends hogs limits nfs old-kernel oom quota relay states timer) test/wall/steps.bats
NO_SAN_SERVE := $(patsubst %,test/serve/%.bats,page page-scale page-ways)
ifneq ($(SAN),)
FLEET_BATS :=
FAULT_BATS := $(filter %/chaos.bats,$(FAULT_BATS))
CLI_BATS := $(SAN_CLI)
HOST_BATS := $(filter-out $(NO_SAN_HOST),$(HOST_BATS))
SERVE_BATS := $(filter-out $(NO_SAN_SERVE),$(SERVE_BATS))
else ifeq ($(PART),rest)
ASK_SAN := $(shell grep -ls TEST_SAN $(SAN_CLI) \
    $(filter-out $(NO_SAN_HOST) $(NO_SAN_SERVE),$(HOST_BATS) $(ACP_BATS) $(SERVE_BATS)))
CLI_BATS := $(filter-out $(SAN_CLI),$(CLI_BATS))
HOST_BATS := $(NO_SAN_HOST)
ACP_BATS := $(ASK_SAN:%=%:plain)
SERVE_BATS := $(NO_SAN_SERVE)
TEST_UNIT :=
else ifneq ($(PART),)
$(error PART is empty, for all tests, or rest)
endif
# What starts whole machines or browsers, or kills at every step, is half of the time of all tests.
FLEET_OF := test/fleet test/helper.bash lib src/fleet src/session src/store src/protocol src/cli/all_hosts* src/cli/jobs* \
    src/cli/new_job* src/cli/remote* src/cmd/move*
FAULTS_OF := test/fault test/helper.bash src/base src/os src/store src/git src/code src/memory src/session
MACHINES := $(patsubst %,test/host/%.bats,limits nfs old-kernel quota)
MACHINES_OF := $(MACHINES) test/host/vm.bash test/host/*.sh src/os/file* src/os/quota* src/store \
    src/wall src/host/bounds* src/host/disk* src/host/resources* src/host/wall*
PAGES_OF := test/serve src/serve
differs = $(shell git diff --quiet '$(SINCE)' -- $(1) 2>/dev/null || echo yes)
ifneq ($(SINCE),)
FLEET_BATS := $(if $(call differs,$(FLEET_OF)),$(FLEET_BATS))
FAULT_BATS := $(if $(call differs,$(FAULTS_OF)),$(FAULT_BATS))
HOST_BATS := $(if $(call differs,$(MACHINES_OF)),$(HOST_BATS),$(filter-out $(MACHINES),$(HOST_BATS)))
# mas does the same on NFS of each version, and on ext4 and XFS: of these machines one is enough.
export TEST_ONE_OF := $(if $(call differs,test/host/nfs.sh),,nfs) $(if $(call differs,test/host/quota.sh src/os/quota*),,quota)
SERVE_BATS := $(if $(call differs,$(PAGES_OF)),$(SERVE_BATS),$(filter-out $(NO_SAN_SERVE),$(SERVE_BATS)))
endif
# Of all others, those that passed when test/reach/map.txt was made, and reach nothing that differs since.
ifneq ($(and $(SINCE),$(filter test,$(MAKECMDGOALS))),)
SAME := $(shell BUILD='$(BUILD)' test/reach/choose.py)
same = $(filter-out $(foreach name,$(SAME),test/$(name).bats test/$(name).bats:plain $(BUILD)/test/$(name)),$(1))
CLI_BATS := $(call same,$(CLI_BATS))
HOST_BATS := $(call same,$(HOST_BATS))
ACP_BATS := $(call same,$(ACP_BATS))
SERVE_BATS := $(call same,$(SERVE_BATS))
TEST_UNIT := $(call same,$(TEST_UNIT))
endif
ALL_TESTS = $(FLEET_BATS) $(FAULT_BATS) $(HOST_BATS) $(ACP_BATS) $(CLI_BATS) $(SERVE_BATS) $(TEST_UNIT)
# What takes longest starts first, so that nothing of it is left when all else has ended.
LONGEST := $(patsubst %,test/%.bats,host/nfs host/lease host/quota wall/steps fault/migrate fleet/lease fleet/reach \
    serve/page fault/errors serve/page-scale fleet/jobs cli/unlanded cli/hostile-agent fleet/bed serve/guard \
    cli/all-hosts fleet/move fault/code-merge fault/archive host/limits cli/config cli/status cli/mas-wall \
    cli/project-submodule cli/project-lfs fleet/examples acp/limits fleet/cut serve/events acp/resume host/disk \
    fault/kill host/ends serve/lying cli/diff fault/code cli/context cli/index cli/merge fault/lazy cli/search \
    host/states cli/restore cli/move cli/host)
longest_first = $(foreach file,$(LONGEST),$(filter $(file),$(1))) $(filter-out $(LONGEST),$(1))
FORMATTED := $(sort $(wildcard src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] test/*/*.[ch]))
MAN := $(sort $(wildcard man/*.[1-8]))
COMPLETION := $(addprefix $(BUILD)/completion/,mas.bash _mas mas.fish)

# ---- flags

ifeq ($(filter clean distclean format uninstall,$(MAKECMDGOALS)),)
ALL_PACKAGES := $(PACKAGES) $(ARCHIVE_PACKAGES) $(CHAT_PACKAGES) $(FILTER_PACKAGES) \
    $(MARKDOWN_PACKAGES) \
    $(if $(filter-out 0,$(WITH_SERVE)),$(SERVE_PACKAGES)) $(if $(filter-out 0,$(WITH_TOP)),$(TOP_PACKAGES))
ifneq ($(shell $(PKG_CONFIG) --exists $(ALL_PACKAGES) 2>/dev/null && echo found),found)
$(error $(PKG_CONFIG) does not find all of: $(ALL_PACKAGES). `sh scripts/quickstart.sh` installs them)
endif
# Without macros: ncursesw would ask for an older standard of POSIX than the sources use.
PKG_CFLAGS := $(filter-out -D%,$(shell $(PKG_CONFIG) --cflags $(ALL_PACKAGES)))
PKG_LIBS := $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lm
# Of this small one mas needs two functions, and each library that is loaded costs nine system calls at every start.
LIBMD := $(wildcard $(shell $(CC) -print-file-name=libmd.a))
PKG_LIBS := $(if $(LIBMD),$(PKG_LIBS:-lmd=$(LIBMD)),$(PKG_LIBS))
ARCHIVE_LIBS := $(shell $(PKG_CONFIG) --libs $(ARCHIVE_PACKAGES))
CHAT_LIBS := $(shell $(PKG_CONFIG) --libs $(CHAT_PACKAGES))
SERVE_LIBS = $(shell $(PKG_CONFIG) --libs $(SERVE_PACKAGES))
TOP_LIBS = $(shell $(PKG_CONFIG) --libs $(TOP_PACKAGES))
MARKDOWN_LIBS := $(shell $(PKG_CONFIG) --libs $(MARKDOWN_PACKAGES))
FILTER_LIBS := $(shell $(PKG_CONFIG) --libs $(FILTER_PACKAGES))
endif

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 \
    -Wconversion -Wvla -Wwrite-strings -Wundef -Wno-unused-result
# What every file is read with, by compilers and by lint alike.
LANGUAGE := -std=c17 -D_GNU_SOURCE -Isrc -include src/base/base.h \
    -DMAS_VERSION='"$(VERSION)"' $(PKG_CFLAGS)
# And src/base/build.c alone, as another PREFIX or commit compiles nothing else.
BUILT := -DMAS_COMMIT='"$(COMMIT)"' -DMAS_DATADIR='"$(DATADIR)"' -DMAS_LIBEXECDIR='"$(LIBEXECDIR)"'

ifneq ($(SAN),)
# The program ends at the first report, whatever the options in the environment say. AddressSanitizer gives
# each global pointers to relocate: at a fixed address, and with its runtime inside, a program takes two thirds
# of the time to start and end. Clang has the runtime inside by itself.
SAN_PLACE := $(if $(findstring address,$(SAN)),no-pie,pie)
SAN_RUNTIME := $(if $(findstring clang,$(shell $(CC) --version)),,\
    $(if $(findstring address,$(SAN)),-static-libasan) $(if $(findstring undefined,$(SAN)),-static-libubsan))
PROTECT := -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer -f$(SAN_PLACE)
LINK_PROTECT := -$(SAN_PLACE) -fsanitize=$(SAN) $(SAN_RUNTIME)
else
# Fortified functions need an optimiser.
PROTECT := -fstack-protector-strong \
    $(if $(filter-out -O0,$(filter -O%,$(CFLAGS))),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
PROTECT += -fPIE
LINK_PROTECT := -pie -Wl,-z,relro,-z,now
endif

ALL_CFLAGS = $(LANGUAGE) $(WARNINGS) $(PROTECT) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(LINK_PROTECT) -Wl,--as-needed $(LDFLAGS)

# One line a file; whole commands with V=1, nothing with -s.
Q := $(if $(V),,@)
QUIET := $(V)$(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(QUIET),@:,@printf '  %-5s %s\n' '$(1)' '$(2)')

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all objects clean distclean install install-strip uninstall dist deb check test test-unit test-cli test-host test-acp test-serve test-agents test-fleet test-fault lint bench fuzz format FORCE

SERVE := $(if $(filter-out 0,$(WITH_SERVE)),$(BUILD)/mas-serve)
TOP := $(if $(filter-out 0,$(WITH_TOP)),$(BUILD)/mas-top)
WALL := $(if $(filter-out 0,$(WITH_WALL)),$(BUILD)/mas-network $(BUILD)/mas-wall)
HELPERS := $(BUILD)/mas-archive $(BUILD)/mas-chat $(BUILD)/mas-told $(SERVE) $(TOP) $(WALL)

OBJECTS := $(OBJ) $(ARCHIVE_OBJ) $(CHAT_OBJ) $(ENTER_OBJ) $(FILTER_OBJ) $(MARKDOWN_OBJ) $(NETWORK_OBJ) \
    $(SERVE_OBJ) $(TOLD_OBJ) $(TOP_OBJ)

all: $(BUILD)/mas $(HELPERS) $(COMPLETION)

# For compilers of machines whose libraries are not here.
objects: $(OBJECTS)

# ---- the program

# Files whose text is the flags, the list of objects, and what build.c says: what depends on them is made anew
# when it changes. -Werror is left out, so that DEV=1 alone rebuilds nothing.
$(BUILD)/.flags: TEXT = $(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS)
$(BUILD)/.objects: TEXT = $(OBJ)
$(BUILD)/.built: TEXT = $(BUILT)
$(BUILD)/.flags $(BUILD)/.objects $(BUILD)/.built: FORCE
	@mkdir -p $(@D)
	@text='$(subst ','\'',$(TEXT))'; \
	    printf '%s\n' "$$text" | cmp -s - $@ || printf '%s\n' "$$text" > $@

$(BUILD)/%.o: %.c $(BUILD)/.flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) $(OF_FILE) $(if $(DEV),-Werror) -MMD -MP -c -o $@ $<
$(BUILD)/src/base/build.o: OF_FILE = $(BUILT)
$(BUILD)/src/base/build.o: $(BUILD)/.built

$(BUILD)/mas: $(OBJ) $(BUILD)/.objects
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $(OBJ) $(PKG_LIBS)

# Everything but main(), for the programs under test/.
$(BUILD)/libmas.a: $(LIB_OBJ) $(BUILD)/.objects
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $(LIB_OBJ)

# Helper programs of mas, with the libraries that mas does not carry.
$(BUILD)/mas-archive: $(ARCHIVE_OBJ) $(BUILD)/libfilter.a $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) $(ARCHIVE_LIBS) $(FILTER_LIBS)

$(BUILD)/mas-serve: $(SERVE_OBJ) $(BUILD)/libfilter.a $(BUILD)/libmarkdown.a $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) $(SERVE_LIBS) $(MARKDOWN_LIBS) $(FILTER_LIBS)
$(BUILD)/src/serve/openapi.o: src/serve/components.json
$(BUILD)/src/serve/page.o: $(wildcard src/serve/page/*)

$(BUILD)/mas-chat: $(CHAT_OBJ) $(BUILD)/libfilter.a $(BUILD)/libmarkdown.a $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) $(CHAT_LIBS) $(MARKDOWN_LIBS) $(FILTER_LIBS)

$(BUILD)/mas-network: $(NETWORK_OBJ) $(BUILD)/libfilter.a $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) $(FILTER_LIBS)

$(BUILD)/mas-top: $(TOP_OBJ) $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS) $(TOP_LIBS)

# Each hook of a program runs it, so it needs no library either.
$(BUILD)/mas-told: $(TOLD_OBJ) $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^

# What is linked of libmas.a needs none of its libraries: each costs time when an agent starts.
$(BUILD)/mas-wall: $(ENTER_OBJ) $(BUILD)/libfilter.a $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(FILTER_LIBS)

# Filters of system calls, and Markdown, for helper programs.
$(BUILD)/libfilter.a: $(FILTER_OBJ)
$(BUILD)/libmarkdown.a: $(MARKDOWN_OBJ)
$(BUILD)/libfilter.a $(BUILD)/libmarkdown.a:
	$(call say,AR,$@)
	$(Q)rm -f $@
	$(Q)$(AR) rcs $@ $^

# mas looks for templates/ and slurm/ beside the directory it is in.
ifneq ($(SAN),)
$(BUILD)/mas: | $(BUILD)/../templates $(BUILD)/../slurm
$(BUILD)/../templates $(BUILD)/../slurm:
	@mkdir -p $(@D)
	$(Q)ln -sfn ../$(@F) $@
endif

# What prints them runs here: where CC makes programs for another machine, a mas that HOST_CC made.
machine = $(firstword $(subst -, ,$(shell $(1) -dumpmachine)))
ifeq ($(call machine,$(CC)),$(call machine,$(HOST_CC)))
MAS_HERE := $(BUILD)/mas
else
MAS_HERE := $(BUILD)/here/mas
$(MAS_HERE): FORCE
	$(Q)$(MAKE) BUILD=$(BUILD)/here CC='$(HOST_CC)' AR=ar PKG_CONFIG='$(HOST_PKG_CONFIG)' CFLAGS=-O1 CPPFLAGS= LDFLAGS= \
	    WITH_SERVE=0 WITH_TOP=0 ARCHIVE_PACKAGES= CHAT_PACKAGES= MARKDOWN_PACKAGES= FILTER_PACKAGES= $@
endif
$(BUILD)/completion/mas.bash: SHELL_NAME := bash
$(BUILD)/completion/_mas: SHELL_NAME := zsh
$(BUILD)/completion/mas.fish: SHELL_NAME := fish
$(COMPLETION): $(MAS_HERE)
	$(call say,GEN,$@)
	@mkdir -p $(@D)
	$(Q)$(MAS_HERE) completion $(SHELL_NAME) > $@

# ---- installing

# For embed_command.
SCRIPTS = libexec/embed-ollama libexec/embed-openai
# Scripts for users, which find mas on PATH.
EXAMPLES = scripts/mas_refactored.sh $(wildcard scripts/examples/*.sh)
UNITS = $(addprefix scripts/mas-,cleanup.service cleanup.timer $(if $(SERVE),serve.service serve.socket))

# Templates keep their links and their executable bits; who may read them does not depend on the
# umask of the clone.
install: all
	$(Q)$(INSTALL) -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBEXECDIR)' \
	    '$(DESTDIR)$(DATADIR)/templates' \
	    '$(DESTDIR)$(DATADIR)/lib' \
	    '$(DESTDIR)$(BASH_COMPLETION_DIR)' '$(DESTDIR)$(ZSH_COMPLETION_DIR)' \
	    '$(DESTDIR)$(FISH_COMPLETION_DIR)' '$(DESTDIR)$(DATADIR)/examples' \
	    '$(DESTDIR)$(SYSTEMD_USER_DIR)' '$(DESTDIR)$(DATADIR)/slurm'
	$(Q)$(INSTALL) $(STRIPS) -m 755 $(BUILD)/mas '$(DESTDIR)$(BINDIR)/mas'
	$(Q)$(INSTALL) $(STRIPS) -m 755 $(HELPERS) '$(DESTDIR)$(LIBEXECDIR)'
	$(Q)$(INSTALL) -m 755 $(SCRIPTS) '$(DESTDIR)$(LIBEXECDIR)'
	$(Q)$(INSTALL) -m 644 lib/session.sh '$(DESTDIR)$(DATADIR)/lib/session.sh'
	$(Q)$(INSTALL) -m 755 slurm/team.sbatch '$(DESTDIR)$(DATADIR)/slurm/team.sbatch'
	$(Q)set -e; for page in $(MAN); do \
	    dir='$(DESTDIR)$(MANDIR)'/man$${page##*.}; \
	    $(INSTALL) -d "$$dir"; $(INSTALL) -m 644 "$$page" "$$dir/"; \
	done
	$(Q)set -e; for source in templates/*; do \
	    to='$(DESTDIR)$(DATADIR)'/$$source; \
	    rm -rf "$$to"; cp -RP --preserve=mode,timestamps "$$source" "$$to"; \
	    chmod -R u=rwX,go=rX "$$to"; \
	done
	$(Q)$(INSTALL) -m 644 $(BUILD)/completion/mas.bash '$(DESTDIR)$(BASH_COMPLETION_DIR)/mas'
	$(Q)$(INSTALL) -m 644 $(BUILD)/completion/_mas '$(DESTDIR)$(ZSH_COMPLETION_DIR)/_mas'
	$(Q)$(INSTALL) -m 644 $(BUILD)/completion/mas.fish '$(DESTDIR)$(FISH_COMPLETION_DIR)/mas.fish'
	$(Q)$(INSTALL) -m 755 $(EXAMPLES) '$(DESTDIR)$(DATADIR)/examples/'
	$(Q)sed 's|^PATH=/usr/local/bin:|PATH=$(BINDIR):|' scripts/mas-cleanup.cron \
	    > '$(DESTDIR)$(DATADIR)/examples/mas-cleanup.cron'
	$(Q)set -e; for unit in $(UNITS); do \
	    sed 's|^ExecStart=/usr/local/bin/|ExecStart=$(BINDIR)/|' "$$unit" >'$(DESTDIR)$(SYSTEMD_USER_DIR)'/$${unit##*/}; \
	    chmod 644 '$(DESTDIR)$(SYSTEMD_USER_DIR)'/$${unit##*/}; \
	done
	$(Q)chmod 644 '$(DESTDIR)$(DATADIR)/examples/mas-cleanup.cron'

install-strip: STRIPS := -s --strip-program='$(STRIP)'
install-strip: install

# Removes what `install` put there and no template that somebody added.
uninstall:
	$(Q)rm -f '$(DESTDIR)$(BINDIR)/mas' $(HELPERS:$(BUILD)/%='$(DESTDIR)$(LIBEXECDIR)/%') \
	    $(patsubst libexec/%,'$(DESTDIR)$(LIBEXECDIR)/%',$(SCRIPTS)) \
	    '$(DESTDIR)$(BASH_COMPLETION_DIR)/mas' \
	    '$(DESTDIR)$(ZSH_COMPLETION_DIR)/_mas' '$(DESTDIR)$(FISH_COMPLETION_DIR)/mas.fish' \
	    '$(DESTDIR)$(DATADIR)/lib/session.sh' '$(DESTDIR)$(DATADIR)/slurm/team.sbatch' \
	    '$(DESTDIR)$(DATADIR)/examples/mas-cleanup.cron' \
	    $(patsubst scripts/%,'$(DESTDIR)$(SYSTEMD_USER_DIR)/%',$(UNITS))
	$(Q)set -e; for page in $(MAN); do \
	    rm -f '$(DESTDIR)$(MANDIR)'/man$${page##*.}/$${page##*/}; \
	done
	$(Q)rm -f $(patsubst %,'$(DESTDIR)$(DATADIR)/examples/%',$(notdir $(EXAMPLES)))
	$(Q)set -e; for source in templates/*; do rm -rf '$(DESTDIR)$(DATADIR)'/$$source; done
	$(Q)if [ -d '$(DESTDIR)$(LIBEXECDIR)' ]; then \
	    rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(LIBEXECDIR)'; \
	fi
	$(Q)if [ -d '$(DESTDIR)$(DATADIR)' ]; then \
	    for dir in templates lib examples slurm; do \
	        [ ! -d '$(DESTDIR)$(DATADIR)'/$$dir ] || \
	            rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(DATADIR)'/$$dir; \
	    done; \
	    rmdir --ignore-fail-on-non-empty '$(DESTDIR)$(DATADIR)'; \
	fi

# ---- packages

dist:
	@scripts/dist.sh '$(VERSION)'

deb: dist
	@scripts/deb.sh '$(VERSION)' $(ARCH)

# ---- testing

$(UNIT) $(TOOLS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(BUILD)/libmas.a $(PKG_LIBS)
$(BUILD)/test/unit/test_libarchive: PKG_LIBS += $(ARCHIVE_LIBS)
$(BUILD)/test/unit/test_palette: PKG_LIBS += -lm
$(BUILD)/test/unit/test_filter: $(FILTER_OBJ)
$(BUILD)/test/unit/test_filter: PKG_LIBS += $(FILTER_LIBS)
$(BUILD)/test/unit/test_markdown: $(MARKDOWN_OBJ)
$(BUILD)/test/unit/test_markdown: PKG_LIBS += $(MARKDOWN_LIBS)
$(BUILD)/test/unit/test_options: $(BUILD)/src/enter/options.o
$(BUILD)/test/unit/test_gate: $(addprefix $(BUILD)/src/network/,gate.o socks.o)
$(BUILD)/test/unit/test_socks: $(BUILD)/src/network/socks.o
$(BUILD)/test/unit/test_later: $(addprefix $(BUILD)/src/serve/,later.o log_stream.o request.o transfer.o work.o)
$(BUILD)/test/unit/test_starter: $(BUILD)/src/serve/starter.o
$(BUILD)/test/unit/test_work: $(BUILD)/src/serve/work.o
$(BUILD)/test/unit/test_chat: $(filter-out $(BUILD)/src/chat/main.o,$(CHAT_OBJ))
$(BUILD)/test/unit/test_chat: $(MARKDOWN_OBJ)
$(BUILD)/test/unit/test_chat: PKG_LIBS += $(CHAT_LIBS) $(MARKDOWN_LIBS)
SERVE_UNIT := $(addprefix $(BUILD)/test/unit/test_,bind guard keys request verb)
$(SERVE_UNIT): $(SERVE_LIB)
$(SERVE_UNIT): $(MARKDOWN_OBJ)
$(SERVE_UNIT): PKG_LIBS += $(SERVE_LIBS) $(MARKDOWN_LIBS)
$(BUILD)/test/unit/test_tail $(BUILD)/test/unit/test_top: $(TOP_LIB)
$(BUILD)/test/unit/test_top_screen: $(filter-out %/act.o %/screen.o,$(TOP_LIB))
$(addprefix $(BUILD)/test/unit/test_t,ail op op_screen): PKG_LIBS += $(TOP_LIBS)

# $PWD is the shell's: the path of a clone may hold quotes.
TEST_ENV = MAS="$(if $(filter /%,$(BUILD)),,$$PWD/)$(BUILD)/mas" TEST_ROOT="$$PWD" TEST_SAN='$(SAN)'
RUN_TESTS = $(TEST_ENV) scripts/run-tests.sh

# What the machines of test/fleet need beside mas: it is installed there.
FLEET := $(COMPLETION) $(CLOCK) $(BUILD)/test/fleet/args.so
$(BUILD)/test/fleet/%.so: test/fleet/%.c
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=c17 -D_GNU_SOURCE -O1 -fPIC -shared -o $@ $<

test: $(BUILD)/mas $(HELPERS) $(TEST_UNIT) $(TOOLS) $(CLOCK) $(if $(FLEET_BATS),$(FLEET))
	@$(if $(strip $(ALL_TESTS)),TEST_FAULT=quick $(RUN_TESTS) $(call longest_first,$(ALL_TESTS)),echo '0 passed, 0 failed')

check: test

test-unit: $(UNIT) $(BUILD)/mas $(HELPERS) $(TOOLS)
	@$(RUN_TESTS) $(UNIT)

test-cli: $(BUILD)/mas $(HELPERS) $(TOOLS) $(CLOCK)
	@$(RUN_TESTS) $(CLI_BATS)

test-host: $(BUILD)/mas $(HELPERS) $(TOOLS)
	@$(RUN_TESTS) $(HOST_BATS)

test-acp: $(BUILD)/mas $(HELPERS) $(TOOLS)
	@$(RUN_TESTS) $(ACP_BATS)

# Real agents of the npm registry, where test/agents/install.sh has put them; not part of `test`.
test-agents: $(BUILD)/mas $(HELPERS)
	@$(TEST_ENV) test/agents/run.sh $(AGENTS)

test-fleet: $(BUILD)/mas $(HELPERS) $(TOOLS) $(FLEET)
	@TEST_FLEET='$(TEST_FLEET)' $(RUN_TESTS) -j 2 $(FLEET_BATS)

test-serve: $(BUILD)/mas $(HELPERS) $(TOOLS)
	@$(RUN_TESTS) $(SERVE_BATS)

test-fault: $(BUILD)/mas $(HELPERS) $(TOOLS)
	@TEST_FAULT=full $(RUN_TESTS) -t 7200 $(FAULT_BATS) test/wall/steps.bats test/wall/kills.bats \
	    test/host/hogs.bats test/host/oom.bats test/host/timer.bats

# Small mistakes in the source, each of which a test has to notice: test/mutants/run.py.
mutants: all tools
	@CC='$(CC)' CFLAGS='$(CFLAGS)' test/mutants/run.py $(SINCE:%=-s %) $(SECONDS:%=-m %) $(ONLY)

sweep:
	@CC='$(CC)' CFLAGS='$(CFLAGS)' test/mutants/sweep.py $(TESTS:%=-t %) $(FILES)

check-all:
	@scripts/check-all.sh

site:
	@scripts/site.sh

.PHONY: tools mutants sweep check-all site
tools: $(TOOLS) $(CLOCK)

bench: $(BUILD)/mas $(HELPERS) $(TOOLS)
	@$(TEST_ENV) test/bench/run.sh

# The program under the fuzzer is all of ours, built by clang with the fuzzer's counters; hence a
# build directory of its own. New inputs stay there too.
fuzz:
	$(Q)$(MAKE) --no-print-directory BUILD=build/fuzz CC='$(FUZZ_CC)' \
	    SAN=fuzzer-no-link,address,undefined LINK_PROTECT=-no-pie fuzz-programs
	$(Q)scripts/run-fuzz.sh build/fuzz '$(FUZZ_SECONDS)' $(FUZZ_SRC)

.PHONY: fuzz-programs
fuzz-programs: $(FUZZ)
$(BUILD)/test/fuzz/fuzz_archive: $(ARCHIVE_LIB)
$(BUILD)/test/fuzz/fuzz_markdown: $(MARKDOWN_OBJ)
$(BUILD)/test/fuzz/fuzz_serve: $(SERVE_LIB)
$(FUZZ): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libmas.a
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS) $(ALL_LDFLAGS) -fsanitize=fuzzer,address,undefined -o $@ \
	    $(filter %.o,$^) $(BUILD)/libmas.a $(PKG_LIBS) $(ARCHIVE_LIBS) $(SERVE_LIBS) $(MARKDOWN_LIBS)

# ---- keeping it tidy

lint: all
	@CC='$(CC)' SINCE='$(SINCE)' scripts/lint/run.sh

# For lint: the flags a file is read with, as shell words.
.PHONY: print-flags
print-flags:
	@printf '%s\n' '$(subst ','\'',$(LANGUAGE) $(BUILT))'

.PHONY: print-warnings
print-warnings:
	@printf '%s\n' '$(WARNINGS)'

format:
	$(Q)clang-format -i $(FORMATTED)

clean distclean:
	$(Q)rm -rf build

-include $(OBJECTS:.o=.d) $(UNIT:=.d) $(TOOLS:=.d) $(FUZZ:=.d)
