import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import { type CallContext, RpcError } from "#kernel/rpc/index.ts";
import { present } from "../members.ts";
import type { Resumed } from "../reconnect.ts";
import type { Hello } from "./connections.ts";

// What Slipway's own agent says besides its id, in headers of the call that opens its stream. Agents of other makers send none of them, and must
// not be refused for it; an agent that sends one wrongly is told so, because it would be taken to have begun anew.

const instanceHeader = "x-slipway-instance";
const resumeHeader = "x-slipway-resume";
const versionHeader = "x-slipway-version";
const runtimeHeader = "x-slipway-runtime";
const attributesHeader = "x-slipway-attributes-bin";

/** Bytes of all values of a header that is a text. */
const maxHeader = 8192;
/** It becomes a part of every workflow that the agent is told of. */
const maxInstance = 256;
/** Words for people. */
const maxWord = 100;
/** Bytes of the attributes, which become a part of an object in the store. */
const maxAttributes = 65_536;

/** Reads the headers; INVALID_ARGUMENT for one that is too long or means nothing. */
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

/** `<workflow_id>;action=<id>;state=running`: ids of workflows hold neither semicolons nor commas. */
const resumption = /^([^;,]+);action=([^;,]*);state=(running|interrupted)$/;

/** Most agents go on with nothing, and there are very many. */
const none: ReadonlyMap<string, Exclude<Resumed, "none">> = new Map();

/** As often as needed: headers of one name arrive joined by commas. Which action it is at does not matter here: the stored state says it. */
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

/** An object of JSON; what is none is not kept, because nothing depends on it. */
function attributesIn(bytes: Uint8Array | undefined): JsonObject | undefined {
  if (bytes === undefined) return undefined;
  if (bytes.length > maxAttributes)
    throw new RpcError("INVALID_ARGUMENT", `${attributesHeader} is longer than ${maxAttributes} bytes`);
  try {
    const attributes: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
    return isJsonObject(attributes) ? attributes : undefined;
  } catch {
    // Somebody else's header of the same name.
    return undefined;
  }
}
