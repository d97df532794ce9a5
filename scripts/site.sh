#!/usr/bin/env bash
# site.sh [DIR]: makes the manual as a site in DIR (default: build/site): README, NEWS, the other documents and the
# manual pages as HTML, without scripts, and looks that each link leads somewhere. Any server of files can serve it,
# such as the pages of a forge.
set -eu -o pipefail
site=$(realpath -m "${1:-$(dirname "$0")/../build/site}")
cd "$(dirname "$0")/.."
. scripts/lib/packages.sh
install_needs 'mandoc:command:mandoc cmark-gfm:command:cmark-gfm python3:command:python3'
version=$(sed -n 's/^VERSION := //p' config.mk)
if [ -e "$site" ] && [ ! -e "$site/man/mas.1.html" ]; then
    say "$site is there already, and is no site"
    exit 1
fi
rm -rf "$site.new"
mkdir -p "$site.new"/{docs,man}
cp docs/*.svg docs/*.png "$site.new/docs/"
cp scripts/lib/site.css "$site.new/style.css"

# page TITLE UP: a page of what comes, which names files as the clone has them; UP leads to the top.
page() {
    cat <<END
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$1</title>
<link rel="stylesheet" href="$2style.css">
</head>
<body>
<nav><a href="$2index.html">mas $version</a> <a href="$2man/mas.1.html">manual</a> <a href="$2NEWS.html">news</a></nav>
<main>
END
    sed -E 's!(<a href="[^:"]*)README\.md!\1index.html!g; s!(<a href="[^:"]*)\.md([#"])!\1.html\2!g
        s!(<a href="[^:"]*man/[a-z.-]+\.[1-8])"!\1.html"!g'
    printf '</main>\n</body>\n</html>\n'
}

for file in ./*.md docs/*.md; do
    file=${file#./} name=${file%.md} up=''
    [[ $file == */* ]] && up=../
    [[ $name == README ]] && name=index
    title=$(sed -n 's/^# //p' "$file" | head -n 1)
    # the licence and directories are shown by the forge; here they are names
    cmark-gfm --extension table "$file" | sed -E 's!<a href="(LICENSE|scripts/examples)">([^<]*)</a>!\2!g' |
        page "$title" "$up" >"$site.new/$name.html"
done
{
    printf '<pre>'
    sed 's/&/\&amp;/g; s/</\&lt;/g' NEWS
    printf '</pre>\n'
} | page 'News of mas' '' >"$site.new/NEWS.html"

cd man # where mandoc finds which pages are ours
for name in *.[1-8]; do
    mandoc -T html -O 'fragment,toc,man=%N.%S.html;https://manpages.debian.org/%N.%S' "$name" |
        # a section in another page
        sed -zE 's!href="(#[^"]*)">([^<]*)(</a>[[:space:]]+(<span class="No">)?in(</span>)?[[:space:]]+<a class="Xr" href=")([^"]*)!href="\6\1">\2\3\6!g' |
        page "${name%.*}(${name##*.})" ../ >"$site.new/man/$name.html"
done
cd ..

python3 -ES scripts/lib/site-links.py "$site.new"
rm -rf "$site"
mv "$site.new" "$site"
printf '%s\n' "$site/index.html"
