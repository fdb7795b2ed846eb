// gRPC for dialects. grpc-js is loaded by the first connection.

export {
  create,
  fromBinary,
  toBinary,
  toJson,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
export * as agentV1 from "./gen/slipway/agent/v1/agent_pb.js";
export * as rpcStatus from "./gen/google/rpc/status_pb.js";
export * as workerV1 from "./gen/proto/worker_pb.js";
export * as workflowV1 from "./gen/proto/workflow_pb.js";
export * as workflowV2 from "./gen/internal/proto/workflow/v2/workflow_pb.js";
export * as wharfApiV5 from "./gen/wharf/api/v5/builds_pb.js";
export * as wharfWorkerV1 from "./gen/wharf/worker/v1/worker_pb.js";
export * from "./channel.ts";
export * from "./frame-writer.ts";
export * from "./frame-reader.ts";
export * from "./framed-calls.ts";
export * from "./framed-channel.ts";
export * from "./listener.ts";
export { type ConnectionSource, RpcPort } from "./port.ts";
export * from "./service.ts";
export type { TakeStream } from "./speaker.ts";
export * from "./status.ts";
export { checkTlsFiles, type TlsPaths } from "./tls-files.ts";
