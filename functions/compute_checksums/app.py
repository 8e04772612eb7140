from fanout.runtime.handlers import handler_of

handler = handler_of("ComputeChecksums")
