import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type CallContext, RpcError } from "#kernel/rpc/index.ts";
import { present } from "../members.ts";
import type { Resumed } from "../reconnect.ts";
import type { Hello } from "./connection.ts";

// Headers of a Slipway agent's stream. A malformed one is an error, because ignoring it would count as a restart.

const instanceHeader = "x-slipway-instance";
const resumeHeader = "x-slipway-resume";
const versionHeader = "x-slipway-version";
const runtimeHeader = "x-slipway-runtime";
const attributesHeader = "x-slipway-attributes-bin";

/** Bytes of all values of a text header. */
const maxHeader = 8192;
/** Stored in every workflow that the agent is sent. */
const maxInstance = 256;
const maxWord = 100;
/** Bytes; stored in the Agent object. */
const maxAttributes = 65_536;

/** Throws INVALID_ARGUMENT for malformed headers. */
export function helloIn(call: CallContext): Omit<Hello, "agentID" | "isIndividual"> {
  const instance = headerOf(call, instanceHeader, maxInstance);
  const version = headerOf(call, versionHeader, maxWord);
  const runtime = headerOf(call, runtimeHeader, maxWord);
  return {
    resumed: resumedIn(headerOf(call, resumeHeader)),
    ...(instance === "" ? {} : { instance }),
    ...(version === "" ? {} : { version }),
    ...(runtime === "" ? {} : { runtime }),
    ...present({ attributes: attributesIn(call.binary(attributesHeader)[0]) }),
  };
}

function headerOf(call: CallContext, name: string, max = maxHeader): string {
  const text = call.header(name);
  if (text.length > max) throw new RpcError("INVALID_ARGUMENT", `${name} is longer than ${max} bytes`);
  return text;
}

/** `<workflow_id>;action=<id>;state=running`: ids hold neither semicolons nor commas. */
const resumption = /^([^;,]+);action=([^;,]*);state=(running|interrupted)$/;

const none: ReadonlyMap<string, Exclude<Resumed, "none">> = new Map();

/** Repeated headers arrive joined by commas. The action is not needed: the stored state has it. */
function resumedIn(text: string): ReadonlyMap<string, Exclude<Resumed, "none">> {
  if (text === "") return none;
  const resumed = new Map<string, Exclude<Resumed, "none">>();
  for (const part of text.split(",").filter((each) => each.trim() !== "")) {
    const [, id = "", , state] = resumption.exec(part.trim()) ?? [];
    if (state !== "running" && state !== "interrupted")
      throw new RpcError(
        "INVALID_ARGUMENT",
        `${resumeHeader} is not <workflow_id>;action=<id>;state=running|interrupted`,
      );
    resumed.set(id, state);
  }
  return resumed;
}

/** A JSON object; anything else is ignored, because nothing depends on it. */
function attributesIn(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length > maxAttributes)
    throw new RpcError("INVALID_ARGUMENT", `${attributesHeader} is longer than ${maxAttributes} bytes`);
  try {
    const attributes: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isJsonObject(attributes) ? attributes : undefined;
  } catch {
    // Another program's header of the same name.
    return undefined;
  }
}
