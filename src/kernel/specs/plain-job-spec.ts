import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Most Jobs in documents are one container with a program and its variables. Recognising them is quick; checking a
// thousand by schema, defaults and rules took a third of a second.

/** Whether the spec has only known members with valid values, without even a warning. False means nothing. */
export const isPlainJobSpec = (spec: JsonObject): boolean => hasOnly(spec, job) && spec["template"] !== undefined;

type Test = (value: JsonValue) => boolean;

type Members = ReadonlyMap<string, Test>;

function hasOnly(value: JsonValue | undefined, members: Members): value is JsonObject {
  if (!isJsonObject(value)) return false;
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === undefined || members.get(name)?.(member) !== true) return false;
  }
  return true;
}

const isText: Test = (value) => typeof value === "string";
const isListOf =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every((item: JsonValue) => test(item));

const variable: Members = new Map<string, Test>([
  ["name", (name) => typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)],
  ["value", isText],
]);

const container: Members = new Map<string, Test>([
  ["name", (name) => typeof name === "string" && /^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name)],
  ["image", (image) => typeof image === "string" && /^[!-~](?:[ -~]*[!-~])?$/.test(image)],
  ["command", isListOf(isText)],
  ["args", isListOf(isText)],
  ["workingDir", isText],
  ["env", isListOf((one) => hasOnly(one, variable) && one["name"] !== undefined)],
]);

/** One, because names of several might be equal. */
const isOneContainer: Test = (list) => {
  if (!Array.isArray(list) || list.length !== 1) return false;
  const [only]: readonly JsonValue[] = list;
  return hasOnly(only, container) && only["name"] !== undefined && only["image"] !== undefined;
};

const pod: Members = new Map<string, Test>([
  ["restartPolicy", (policy) => policy === "Never" || policy === "OnFailure"],
  ["containers", isOneContainer],
]);

const template: Members = new Map<string, Test>([
  ["spec", (spec) => hasOnly(spec, pod) && spec["restartPolicy"] !== undefined && spec["containers"] !== undefined],
]);

const job: Members = new Map<string, Test>([
  ["backoffLimit", (limit) => Number.isInteger(limit) && Number(limit) >= 0 && Number(limit) <= 1000],
  ["template", (value) => hasOnly(value, template) && value["spec"] !== undefined],
]);
