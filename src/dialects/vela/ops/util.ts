import { isJsonObject, textAt } from "#lib/base/index.ts";
import { type Action, done, failure, inBothForms } from "./form.ts";

/** Bytes come as base64. */
const convert: Action = (params) => {
  const { bt } = params;
  return typeof bt === "string" ? done({ str: Buffer.from(bt, "base64").toString() }) : failure("bt: expected bytes");
};

/** What cannot be merged is an answer: the template decides. */
const patch: Action = async ({ value, patch: over }, { patched }) => {
  if (!isJsonObject(value) || !isJsonObject(over)) return failure("value and patch: expected objects");
  const merged = await patched(value);
  return done(merged.ok ? { result: merged.value } : { err: merged.error });
};

/** Where else the log of the step is found is kept as a note. */
const log: Action = (params, scope) => {
  const { data, source } = params;
  if (data !== undefined) scope.print(typeof data === "string" ? data : JSON.stringify(data));
  if (isJsonObject(source) && (textAt(source, "url") !== undefined || Array.isArray(source["resources"])))
    scope.notes.set("logs", source);
  return done();
};

export const utilProviders = inBothForms("util", { string: convert, "patch-k8s-object": patch, log });
