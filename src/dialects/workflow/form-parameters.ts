import { isTrueAt, type JsonObject, type JsonValue, listAt, textAt, valueAt } from "#lib/base/index.ts";
import type { StartParameter } from "#kernel/dialect/index.ts";

/** Types that a form knows; values of others are texts as on the command line. */
const formTypes: Readonly<Record<string, StartParameter["type"]>> = {
  integer: "number",
  number: "number",
  boolean: "boolean",
};

const asText = (value: JsonValue): string => (typeof value === "string" ? value : JSON.stringify(value));

/** Params of a specification or inputs of an approval, as a form asks for them. */
export const formParameters = (params: readonly JsonObject[]): readonly StartParameter[] =>
  params.map((param) => {
    const [description, initial] = [textAt(param, "description"), valueAt(param, "default")];
    const options = listAt(param, "enum").map(asText);
    return {
      name: textAt(param, "name") ?? "",
      type: formTypes[textAt(param, "type") ?? ""] ?? "string",
      ...(description === undefined ? {} : { description }),
      ...(initial === undefined ? {} : { default: asText(initial) }),
      ...(options.length === 0 ? {} : { options }),
      isRequired: isTrueAt(param, "required"),
    };
  });
