import type { JsonObject, Problem } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import type { GroupKind } from "#engine/index.ts";
import type { Admission, Admitted } from "./dialect.ts";

// What is found in a document, as a server tells it: what is lint to a person is a cause or a warning to a client, in the words of Kubernetes.

/**
 * Most updates touch metadata only: those are admitted even where the specification is an old one that is refused
 * today.
 */
export const isSameSpec = (object: JsonObject, old: JsonObject): boolean =>
  object["spec"] === old["spec"] || JSON.stringify(object["spec"]) === JSON.stringify(old["spec"]);

/** The admission of a kind about which nothing is asked but that its status, which controllers act on, is written by them alone. */
export const guardStatus = ({ group, kind }: GroupKind): Admission => ({
  group,
  kind,
  coversSchema: false,
  prepareForCreate: (object) => object,
  ownStatus: (status) => status,
  validate: () => admitted([]),
});

/** What only another server would carry out is refused by this one: it could never start the step. */
const isRefused = ({ severity, code }: Problem): boolean => severity === "error" || code === "not-served";

/** Errors refuse, warnings travel beside the answer. */
export function admitted(problems: readonly Problem[]): Admitted {
  const causes = problems.filter(isRefused).map(causeOf);
  const warnings = problems.filter((problem) => !isRefused(problem));
  return { causes, warnings: warnings.map(warningOf) };
}

/** `field: message (hint)`, the form of Kubernetes' own warnings. */
const warningOf = ({ path, message, hint }: Problem): string =>
  `${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`;

const causeOf = ({ code, message, path, hint }: Problem): StatusCause => ({
  reason: reasons[code] ?? "FieldValueInvalid",
  message: hint === undefined ? message : `${message} (${hint})`,
  field: path,
});

/**
 * Kubernetes' words for what is wrong with a field (meta/v1 `CauseType`), which some clients sort by; what is not
 * listed is FieldValueInvalid.
 */
const reasons: Readonly<Record<string, string>> = {
  required: "FieldValueRequired",
  "missing-argument": "FieldValueRequired",
  "no-steps": "FieldValueRequired",
  forbidden: "FieldValueForbidden",
  immutable: "FieldValueForbidden",
  "not-carried": "FieldValueForbidden",
  "unsupported-value": "FieldValueNotSupported",
  "wrong-type": "FieldValueTypeInvalid",
};
