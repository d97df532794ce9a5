#!/bin/sh
# An agent of ACP that repeats what it is asked, and runs what begins with `hog`, or becomes it, with `exec hog`.
while read -r line; do
    number=${line#*'"id":'} number=${number%%[,\}]*}
    result='{}'
    case $line in
        *'"method":"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{}}' ;;
        *'"method":"session/new"'*) result='{"sessionId":"one"}' ;;
        *'"method":"session/prompt"'*)
            text=${line##*'"text":"'} text=${text%%'"'*}
            case $text in hog\ * | 'exec hog '*) $text ;; esac
            printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"it is %s"}}}}\n' "$text"
            result='{"stopReason":"end_turn"}'
            ;;
        *'"id":'*) ;;
        *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$number" "$result"
done
