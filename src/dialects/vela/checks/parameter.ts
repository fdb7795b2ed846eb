import {
  type FieldPath,
  formatFieldPath,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  listAt,
  objectAt,
} from "#lib/base/index.ts";

// Properties against the OpenAPI schema of a definition's parameter, as far as that decides it: alternatives and
// patterns are left to the evaluation.

export interface ParameterFault {
  /** Within the properties. */
  readonly path: FieldPath;
  readonly message: string;
}

export interface ParameterChoices {
  /** Values may come from elsewhere, such as inputs: nothing is missing. */
  readonly isPartial: boolean;
}

const mostFaults = 20;

export function parameterFaults(
  schema: JsonObject,
  properties: JsonValue,
  choices: ParameterChoices,
): readonly ParameterFault[] {
  const faults: ParameterFault[] = [];
  check(schema, properties, [], choices, faults);
  return faults;
}

function check(
  schema: JsonObject,
  value: JsonValue,
  path: FieldPath,
  choices: ParameterChoices,
  faults: ParameterFault[],
): void {
  if (faults.length >= mostFaults || ["oneOf", "anyOf", "allOf", "not", "$ref"].some((word) => word in schema)) return;
  const { type } = schema;
  if (typeof type === "string" && !isOf(type, value)) {
    faults.push({ path, message: `${nameOf(path)}: expected ${type}, found ${shown(value)}` });
    return;
  }
  const allowed = listAt(schema, "enum");
  if (allowed.length > 0 && !allowed.some((one) => one === value)) {
    const choicesText = allowed.map((one) => JSON.stringify(one)).join(", ");
    faults.push({ path, message: `${nameOf(path)}: expected one of ${choicesText}, found ${shown(value)}` });
  }
  const items = objectAt(schema, "items");
  if (Array.isArray(value) && items !== undefined)
    for (const [index, item] of value.entries()) check(items, item, [...path, index], choices, faults);
  if (isJsonObject(value)) checkMembers(schema, value, path, choices, faults);
}

function checkMembers(
  schema: JsonObject,
  value: JsonObject,
  path: FieldPath,
  choices: ParameterChoices,
  faults: ParameterFault[],
): void {
  const members = objectAt(schema, "properties") ?? {};
  for (const [name, member] of Object.entries(members)) {
    const found = value[name];
    if (found !== undefined && isJsonObject(member)) check(member, found, [...path, name], choices, faults);
  }
  if (choices.isPartial) return;
  for (const name of listAt(schema, "required")) {
    if (typeof name !== "string" || value[name] !== undefined) continue;
    const member = objectAt(members, name);
    if (member === undefined || member["default"] !== undefined || isFilled(member)) continue;
    const expected = typeof member["type"] === "string" ? `, expected ${member["type"]}` : "";
    faults.push({ path, message: `${nameOf([...path, name])} is required${expected}` });
  }
}

/** An object whose members all have defaults need not be given. */
function isFilled(schema: JsonObject): boolean {
  const members = objectAt(schema, "properties");
  if (schema["type"] !== "object" || members === undefined) return false;
  return listAt(schema, "required").every((name) => {
    const member = typeof name === "string" ? objectAt(members, name) : undefined;
    return member !== undefined && (member["default"] !== undefined || isFilled(member));
  });
}

const nameOf = (path: FieldPath): string => formatFieldPath(["parameter", ...path]);

function isOf(type: string, value: JsonValue): boolean {
  switch (type) {
    case "string":
    case "boolean":
      return typeof value === type;
    case "number":
      return typeof value === "number";
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    default:
      return true;
  }
}

const longest = 60;

/** Texts may be secrets in a document, so only their type is shown. */
function shown(value: JsonValue): string {
  if (typeof value === "string") return "a string";
  const text = JSON.stringify(value);
  if (Array.isArray(value)) return "a list";
  return isJsonObject(value) ? "an object" : text.slice(0, longest);
}
