// hono, node:http2 and grpc-js are loaded with the first connection; servers import `rest-api.ts` inside `serves`.

export { boundedText } from "./bounded-body.ts";
export type { AskedRequest } from "./entry.ts";
export { HttpDoor, type HttpDoorOptions, openHttpDoor, type Served } from "./door.ts";
export { type Problem, type ProblemKind, refuse } from "./problem.ts";
