import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { Kind } from "#lib/schema/index.ts";
import { admitted } from "../admitted.ts";
import type { Admission } from "../dialect.ts";
import { collectProblems, type Report } from "../problems.ts";
import { ownSecretName } from "./builds/inputs-secret.ts";
import { Build, Project } from "./kinds.ts";
import { checkBuild, checkProject } from "./rules.ts";

/** Reports what is against a specification; with `old`, what is against its change. A build's own Secret is known by its name. */
type Check = (spec: JsonObject, report: Report, old?: JsonObject, ownSecret?: string) => void;

/** Undefined where the schema is to say that there is none. */
const specOf = (object: JsonObject | undefined): JsonObject | undefined => {
  const spec = object?.["spec"];
  return isJsonObject(spec) ? spec : undefined;
};

function ownSecretOf({ metadata }: JsonObject): string | undefined {
  const { name, uid } = isJsonObject(metadata) ? metadata : {};
  return typeof name === "string" && typeof uid === "string" ? ownSecretName(name, uid) : undefined;
}

/** Rules that look at the specification alone, beside those of the schema. */
const admissionOf = ({ group, kind }: Kind, check: Check): Admission => ({
  group,
  kind,
  coversSchema: false,
  prepareForCreate: (object) => object,
  validate(object, old) {
    const found = collectProblems();
    const [spec, before] = [specOf(object), specOf(old)];
    // What the schema has against the object is said by the server. What is being deleted goes whatever it is.
    if (spec !== undefined && !isSame(spec, before)) check(spec, found.error, before, ownSecretOf(object));
    return admitted(found.problems);
  },
});

/** A change of metadata or status alone is nothing to the rules. */
const isSame = (spec: JsonObject, before: JsonObject | undefined): boolean =>
  before !== undefined && JSON.stringify(spec) === JSON.stringify(before);

/** What a server asks of the kinds of this language. */
export const admission: readonly Admission[] = [admissionOf(Build, checkBuild), admissionOf(Project, checkProject)];
