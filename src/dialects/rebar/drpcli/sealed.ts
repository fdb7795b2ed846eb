import { randomBytes } from "node:crypto";
import { isTrueAt, type JsonValue } from "#lib/base/index.ts";
import { isRefused } from "../agent/client.ts";
import { seal } from "../secure/box.ts";
import { type Call, CliError } from "./verb.ts";

/** The value as it may be sent: sealed to its owner if its param is secure. */
export async function sealed(
  call: Call,
  collection: string,
  owner: string,
  name: string,
  value: JsonValue,
): Promise<JsonValue> {
  const param = await call.get(["params", name]).catch((thrown: unknown) => {
    // Values without a Param, and programs that may not read params.
    if (isRefused(thrown, 404) || isRefused(thrown, 403)) return null;
    throw thrown;
  });
  if (!isTrueAt(param, "Secure")) return value;
  const key = await call.get([collection, owner, "pubkey"]);
  const bytes = Buffer.from(typeof key === "string" ? key : "", "base64");
  if (bytes.length !== 32) throw new CliError(`Cannot set secure parameter ${name}: the server's key has no 32 bytes`);
  return { ...seal(bytes, value, (length) => randomBytes(length)) };
}
