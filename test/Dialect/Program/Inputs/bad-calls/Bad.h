// What check_call_sources.py must find; compiled by nobody.
inline int64_t getStride(const Instruction &call) { return call.ints[0]; }

inline Body getBody(const LibraryCall &call) {
  switch (getId(call)) {
  case CallId::Gather:
    return runGather;
  default:
    return runRandomMask;
  }
}

inline bool isCopy(const Instruction &call) {
  return static_cast<CallId>(call.target) == CallId::Copy;
}

// This is fine: it is about something else.
inline int getSize(CallId, DataType type) {
  switch (type) {
  case DataType::F64:
    return 8;
  default:
    return 4;
  }
}

inline void note(program::LaunchOp launch) {
  launch->setAttr("mpt.group", UnitAttr::get(launch.getContext()));
}

inline StringAttr getName(func::FuncOp step) {
  return step.getArgAttrOfType<StringAttr>(0, kNameAttr);
}
