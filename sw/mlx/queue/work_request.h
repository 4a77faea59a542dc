// Work requests and completions of the verbs, which this driver takes and gives as they are.
#pragma once

#include "sw/verbs/work_request.h"

namespace sw::mlx {

using verbs::Completion;
using verbs::CompletionOperation;
using verbs::CompletionStatus;
using verbs::name;
using verbs::ReceiveRequest;
using verbs::SendOperation;
using verbs::SendRequest;
using verbs::Sge;
namespace send_flag = verbs::send_flag;

} // namespace sw::mlx
