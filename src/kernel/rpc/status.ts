import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { StatusSchema } from "./gen/google/rpc/status_pb.js";

export const statusCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;
export type StatusName = keyof typeof statusCodes;

/** A standard message with more than code and text. */
interface Detail<S extends DescMessage = DescMessage> {
  readonly schema: S;
  readonly value: MessageInitShape<S>;
}

/** What a handler throws to end a call with a status. Anything else it throws is a bug. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: Exclude<StatusName, "OK">;
  readonly details: readonly Detail[];

  constructor(
    code: Exclude<StatusName, "OK">,
    message: string,
    options: { readonly details?: readonly Detail[]; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
  }
}

export const shutdown: RpcError = new RpcError("UNAVAILABLE", "the server is shutting down");

/** The content of `grpc-status-details-bin`; undefined if there is none. */
export function encodeDetails({ code, message, details }: RpcError): Uint8Array | undefined {
  if (details.length === 0) return undefined;
  const packed = details.map(({ schema, value }) => anyPack(schema, create(schema, value)));
  return toBinary(StatusSchema, create(StatusSchema, { code: statusCodes[code], message, details: packed }));
}
