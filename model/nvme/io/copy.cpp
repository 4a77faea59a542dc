// Copy: blocks of several ranges of a namespace to one range of it. NVM command set 1.0 "Copy command".
#include "model/nvme/io/ends.h"
#include "model/nvme/io/io.h"

namespace model::nvme {

Outcome Io::copy(Request&, port::Time at) { return ended(refuse(Status::invalid_opcode), at); }

} // namespace model::nvme
