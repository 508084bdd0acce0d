#include "mpt/Analysis/CallWorkspace.h"
#include "mpt/Analysis/StepSchedule.h"
int64_t mpt::getCallWorkspaceBytes(const StepInstruction &, int64_t) { return 0; }
