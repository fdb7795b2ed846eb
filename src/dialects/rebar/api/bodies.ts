import { isJsonObject, type JsonObject, type JsonValue, messageOf } from "#lib/base/index.ts";
import { boundedText } from "#kernel/doors/index.ts";
import { badRequest, type Call } from "./call.ts";

/** Of bodies that are kept in memory. */
export const mostBytes = 16 * 2 ** 20;
export const mostContentBytes = 64 * 2 ** 20;

/** The body as JSON; throws 400 for another content type or malformed JSON. */
export async function readJson(call: Call, most = mostBytes): Promise<JsonValue> {
  const { method, path, request } = call;
  const [model = "", key = ""] = path;
  const type = request.headers["content-type"] ?? "";
  if (!isType(type, "application/json")) throw badRequest(method, model, key, `Invalid content type: ${type}`);
  const text = await boundedText(request, most);
  if (isTooDeep(text)) throw badRequest(method, model, key, `expected JSON of at most ${mostDeep} levels`);
  try {
    return JSON.parse(text) as JsonValue;
  } catch (thrown) {
    throw badRequest(method, model, key, messageOf(thrown));
  }
}

/** What handles values calls itself for each level. */
const mostDeep = 500;

const [quote, escape, open, close] = [0x22, 0x5c, 0x5b, 0x5d];
/** Braces are brackets with this bit. */
const brace = 0x20;

/** In one pass, whatever the text is: strangers' texts are not parsed before. */
function isTooDeep(text: string): boolean {
  if (text.length < 2 * mostDeep) return false;
  let [depth, isText] = [0, false];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) isText = !isText;
    else if (isText) at += code === escape ? 1 : 0;
    else if ((code & ~brace) === open && ++depth > mostDeep) return true;
    else if ((code & ~brace) === close) depth--;
  }
  return false;
}

export async function readObjectBody(call: Call, most?: number): Promise<JsonObject> {
  const value = await readJson(call, most);
  if (isJsonObject(value)) return value;
  const [model = "", key = ""] = call.path;
  throw badRequest(call.method, model, key, "expected a JSON object");
}

/** Parameters such as `charset` do not matter. */
export function isType(header: string, type: string): boolean {
  const end = header.indexOf(";");
  return (end < 0 ? header : header.slice(0, end)).trim().toLowerCase() === type;
}

/** A member by its exact name, else without regard to case, as the original reads objects. */
export function memberOf(object: JsonObject, name: string): JsonValue | undefined {
  if (Object.hasOwn(object, name)) return object[name];
  const lower = name.toLowerCase();
  const other = Object.keys(object).find((member) => member.toLowerCase() === lower);
  return other === undefined ? undefined : object[other];
}
