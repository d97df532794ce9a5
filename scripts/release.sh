#!/bin/sh
# Walks the list of a release, stops at the first point that is not met, and prints what is left to do by hand:
# release.sh [--quick]. With --quick without the tests, for a look at the rest.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION := //p' config.mk)

point() { printf '== %s\n' "$*"; }
refuse() {
    printf 'release.sh: %s\n' "$*" >&2
    exit 1
}

point "version $version"
[ -z "$(git status --porcelain)" ] || refuse "there are changes that are not committed"
[ -z "$(git tag -l "v$version")" ] || refuse "the tag v$version is there already"
grep -q "^$version (" NEWS || refuse "NEWS has no section of $version"
head -1 debian/changelog | grep -qF "($version)" || refuse "debian/changelog does not begin with $version"

point "dates of the manual pages"
for page in man/*; do
    dated=$(sed -n 's/^\.Dd //p' "$page") changed=$(git log -1 --format=%cs -- "$page")
    [ "$(date -d "$dated" +%s)" -ge "$(date -d "$changed" +%s)" ] ||
        refuse "$page was changed on $changed, and says $dated"
done

if [ "${1-}" != --quick ]; then
    point tests
    make -s check-all
fi

point "tarball and packages"
make -s deb
(cd build && sha256sum "mas-$version.tar.gz" deb/*.deb) >"build/mas-$version.sha256"

point "the manual as a site"
make -s site

point "left to do"
cat <<END
The tag, with the section of NEWS as its text:
    awk '/^[0-9]/ { on = \$1 == "$version" } on' NEWS | git tag -s "v$version" -F -
    git push origin "v$version"
Publish build/mas-$version.tar.gz, build/deb/*.deb and build/mas-$version.sha256, and build/site as the site.
END
