// hono, node:http2 and grpc-js are loaded with the first connection; servers import `rest-api.ts` inside `serves`.

export { boundedText } from "#kernel/doors/index.ts";
export { type HttpDoor, type HttpDoorOptions, openHttpDoor, type Served } from "./http-door.ts";
export { type Problem, type ProblemKind, refuse } from "./problem.ts";
export type { AskedRequest } from "#kernel/doors/index.ts";
