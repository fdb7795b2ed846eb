import { type FieldPath, formatFieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { type CompiledSchema, compileSchema, type FieldError } from "#lib/schema/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import { definition, definitionNames } from "./definitions.ts";
import { noFindings, withoutRepetition } from "./findings.ts";
import { withJobSpecDefaults } from "./job-defaults.ts";
import { checkJobRules } from "./job-rules.ts";
import { isPlainJobSpec } from "./plain-job-spec.ts";

/** What creating a Job with some spec would be answered with. Fields are named from the path the caller gave. */
export interface JobSpecFindings {
  /** What every Kubernetes refuses: wrong types, numbers out of range, missing fields, fields that contradict each other. */
  readonly causes: readonly StatusCause[];
  /** What Kubernetes allows and the embedded server refuses, such as hostPID or a csi volume. */
  readonly unsupported: readonly StatusCause[];
  /** Paths of fields that the type does not have. A Job is created without them, or not at all under strict field validation. */
  readonly unknown: readonly string[];
  /** Fields that are kept and have no effect on the embedded server, as `field: why`. */
  readonly warnings: readonly string[];
}

/**
 * Everything that the spec of a Job would be refused for, before there is a Job: for documents that hold one inside, such as
 * a step of a Workflow. Defaults are filled in before the rules are asked, as on creation. Never throws, whatever `spec`
 * holds; all errors at once, but at most 100 of the schema's. The same words as the API server's, whose rules these are.
 *
 * `at` is put before every field. `isOpen` marks texts whose value is known only later (`${{ params.count }}`): nothing is
 * said against them, nor against what cannot be judged without them.
 *
 * `checkJobSpec({ backoffLimit: "two", template }, ["spec", "job"])` finds the cause
 * `{reason: "FieldValueTypeInvalid", field: "spec.job.backoffLimit", …}`.
 */
export function checkJobSpec(
  spec: JsonObject,
  at: FieldPath,
  { isOpen = () => false }: { readonly isOpen?: (text: string) => boolean } = {},
): JobSpecFindings {
  return isPlainJobSpec(spec) ? nothing : judgeJobSpec(spec, at, isOpen);
}

const nothing: JobSpecFindings = { causes: [], unsupported: [], unknown: [], warnings: [] };

/** As `checkJobSpec`, by schema, defaults and rules, whatever the spec looks like. */
export function judgeJobSpec(spec: JsonObject, at: FieldPath, isOpen: (text: string) => boolean): JobSpecFindings {
  const schema = jobSpecSchema();
  const pruned = schema.prune(spec);
  const filled = withJobSpecDefaults(objectOf(schema.withDefaults(objectOf(pruned.value))));
  const byType = schema.validate(filled, { at });
  const found = noFindings();
  // The rules read what is of another type as absent. What they conclude from that is dropped below, so that a wrong type
  // in one place does not hide a wrong number in another.
  checkJobRules(filled, at, found);
  const isFaultless = byType.length + found.errors.length + found.unsupported.length === 0;
  const open = isFaultless ? [] : openPlaces(filled, at, isOpen);
  const typeErrors = byType.filter(({ field }) => !open.some((place) => isWithin(field, place)));
  const undecided = [...open, ...typeErrors.filter(isWrongType).map(({ field }) => field)];
  const decided = (errors: readonly FieldError[]) => errors.filter((error) => !dependsOn(error, undecided));
  return {
    causes: withoutRepetition([...typeErrors, ...decided(found.errors)]),
    unsupported: decided(found.unsupported),
    unknown: pruned.unknown.map((path) => below(at, path)),
    warnings: [...new Set(found.warnings)],
  };
}

let compiled: CompiledSchema | undefined;

/** Compiled at the first Job: most commands never see one. */
function jobSpecSchema(): CompiledSchema {
  compiled ??= compileSchema({ $ref: definitionNames.jobSpec }, { resolve: definition });
  return compiled;
}

const objectOf = (value: JsonValue): JsonObject => (isJsonObject(value) ? value : {});
const isWrongType = ({ reason }: FieldError): boolean => reason === "FieldValueTypeInvalid";

/** The paths of all texts that are open, in Kubernetes' notation. O(size of the value). */
function openPlaces(value: JsonValue | undefined, at: FieldPath, isOpen: (text: string) => boolean): readonly string[] {
  if (typeof value === "string") return isOpen(value) ? [formatFieldPath(at)] : [];
  if (typeof value !== "object" || value === null) return [];
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonObject(value)
    ? Object.entries(value)
    : [...value.entries()];
  return members.flatMap(([name, member]) => openPlaces(member, [...at, name], isOpen));
}

/** A path of the pruned value, as a path of the document. */
function below(at: FieldPath, path: string): string {
  const parent = formatFieldPath(at);
  return parent === "" || path.startsWith("[") ? `${parent}${path}` : `${parent}.${path}`;
}

/** Whether a field is the place or stands in it; both in Kubernetes' notation. */
const isWithin = (field: string, place: string): boolean =>
  field === place || field.startsWith(`${place}.`) || field.startsWith(`${place}[`);

const volume = /\.template\.spec\.volumes(?:\[\d+\](?:\.name)?)?$/;
const container = /\.template\.spec\.(?:initC|c)ontainers(?:\[\d+\](?:\.name)?)?$/;

/**
 * Whether an error could be gone once the undecided places have a value: it is about such a place, about the object that one
 * is a member of ("exactly one of …"), or about a name that one of them may turn out to have.
 */
function dependsOn({ field, reason }: FieldError, undecided: readonly string[]): boolean {
  const isMember = (place: string) =>
    isWithin(place, field) && /^(?:\.[^.[\]]+|\[[^\]]*\])$/.test(place.slice(field.length));
  const names = reason === "FieldValueNotFound" ? volume : field.endsWith(".containerName") ? container : undefined;
  return undecided.some(
    (place) => isWithin(field, place) || isMember(place) || (names !== undefined && names.test(place)),
  );
}
