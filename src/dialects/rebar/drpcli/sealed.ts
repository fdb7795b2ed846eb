import { isTrueAt, type JsonValue } from "#lib/base/index.ts";
import { isRefused } from "../agent/client.ts";
import { type Call, CliError } from "./verb.ts";

/** The value as it may be sent: sealed to its owner if its param is secure. */
export async function sealed(
  call: Call,
  _collection: string,
  _owner: string,
  name: string,
  value: JsonValue,
): Promise<JsonValue> {
  const param = await call.get(["params", name]).catch((thrown: unknown) => {
    // Values without a Param, and programs that may not read params.
    if (isRefused(thrown, 404) || isRefused(thrown, 403)) return null;
    throw thrown;
  });
  if (!isTrueAt(param, "Secure")) return value;
  throw new CliError(`Cannot set secure parameter ${name}`);
}
