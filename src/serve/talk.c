/* Prompts, history and context of agents. */
#include "core/hosts.h"
#include "core/message.h"
#include "core/roll.h"
#include "serve/api.h"
#include "serve/server.h"

#include <string.h>

enum { STATUS_ACCEPTED = 202 };

enum step api_history(struct request *request)
{
    answer_error(request, 503, "there is no history yet");
    return STEP_ANSWERED;
}

enum step api_context(struct request *request)
{
    answer_error(request, 503, "there is no context yet");
    return STEP_ANSWERED;
}

enum step api_prompt(struct request *request)
{
    answer_error(request, 503, "there are no prompts yet");
    return STEP_ANSWERED;
}
