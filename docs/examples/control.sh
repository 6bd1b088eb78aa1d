#!/bin/sh
# A tool control in shell, for the modes once and serve. It passes cd and message and holds every other call.
#
# A shell cannot read JSON, so this relies on the form in which requests are written: compact, five keys in a fixed order.
# It looks at the name of the tool and never into its arguments: pass only what is harmless whatever the arguments are.
LC_ALL=C
export LC_ALL

text='"([^"\\]|\\.)*"' # a JSON string; what is inside the arguments cannot pretend to be the name
request="^[{]\"id\":$text,\"name\":$text,\"input\":[{].*[}],\"role\":$text,\"agent_id\":$text(,.*)?[}]\$"
newline='
'

# Says the verdict on the request $1 without its closing brace; fails where it is no request.
judge() {
	case $1 in *"$newline"*) return 1 ;; esac
	printf '%s\n' "$1" | grep -Eq "$request" || return 1
	if printf '%s\n' "$1" | grep -Eq "^[{]\"id\":$text,\"name\":\"(cd|message)\","; then
		printf '{"verdict":"pass"'
	else
		printf '{"verdict":"hold","reason":"this control passes cd and message only"'
	fi
}

if [ "${1-}" = serve ]; then
	while IFS= read -r line; do
		verdict=$(judge "$line") || exit 2
		id=$(printf '%s\n' "$line" | sed -E "s/^[{]\"id\":($text).*/\\1/")
		printf '%s,"id":%s}\n' "$verdict" "$id"
	done
else
	verdict=$(judge "$(cat)") || exit 2
	printf '%s}\n' "$verdict"
fi
