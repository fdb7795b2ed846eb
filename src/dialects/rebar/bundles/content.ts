import { isJsonObject, type JsonObject, type Result, err, ok, textAt } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { type ModelError, refusal } from "../failure.ts";
import { isCollection } from "../kinds.ts";
import { asJson, keyOf, readObject } from "../model/read.ts";
import { type AnyObject, type Collection, keyField } from "../objects.ts";

/** A bundle as a client sent it, read. */
export interface ReadContent {
  readonly name: string;
  readonly meta: JsonObject;
  readonly objects: readonly BundleObject[];
  /** Sections that this server has no collection for, as they came. */
  readonly extra: JsonObject;
}

export interface BundleObject {
  readonly collection: Collection;
  readonly key: string;
  readonly object: AnyObject;
}

/** The type is the HTTP method: the listener puts it there. */
export const contentRefusal = (code: number, name: string, ...messages: readonly string[]): ModelError =>
  refusal(code, "", "contents", name, ...messages);

/** A ContentBundle that a client wrote, whose objects are still to be loaded. */
export const isPending = ({ spec }: KubeObject): boolean => isJsonObject(spec) && isJsonObject(spec["sections"]);

/** Every problem at once. */
export function readContent(sent: JsonObject): Result<ReadContent, ModelError> {
  const meta = isJsonObject(sent["meta"]) ? sent["meta"] : {};
  const sections = isJsonObject(sent["sections"]) ? sent["sections"] : {};
  const name = textAt(meta, "Name");
  if (name === undefined) return err(contentRefusal(422, "", "Store at content- has no Name metadata"));
  const problems: string[] = [];
  const objects: BundleObject[] = [];
  const extra: Record<string, JsonObject> = {};
  for (const [type, section] of Object.entries(sections)) {
    if (!isJsonObject(section)) {
      problems.push(`${type} in layer ${name}: expected objects by key`);
    } else if (!isCollection(type)) extra[type] = section;
    else if (type === "machines" || type === "jobs") problems.push(`${type} cannot be in layer ${name}`);
    else objects.push(...readSection(name, type, section, problems));
  }
  if (problems.length > 0) return err(contentRefusal(422, name, ...problems));
  return ok({ name, meta: { ...meta, Type: "dynamic" }, objects, extra });
}

function readSection(
  bundle: string,
  collection: Collection,
  section: JsonObject,
  problems: string[],
): readonly BundleObject[] {
  return Object.entries(section).flatMap(([key, value]) => {
    const field = keyField(collection);
    const own = isJsonObject(value) ? textAt(value, field) : undefined;
    const sent = isJsonObject(value) && own === undefined ? { ...value, [field]: key } : (value ?? null);
    const read = readObject(collection, sent);
    const place = `${collection}:${key} in layer ${bundle}`;
    if (!read.ok) {
      problems.push(...read.error.Messages.map((message) => `${place}: ${message}`));
      return [];
    }
    if (keyOf(collection, read.value) !== key) {
      problems.push(`${place}: expected ${field} ${key}, found ${keyOf(collection, read.value)}`);
      return [];
    }
    const object = { ...read.value, ReadOnly: true, Bundle: bundle };
    return [{ collection, key, object }];
  });
}

/** Objects by type, and how many of each. */
export function countsOf(sections: JsonObject): Readonly<Record<string, number>> {
  return Object.fromEntries(
    Object.entries(sections).map(([type, section]) => [type, isJsonObject(section) ? Object.keys(section).length : 0]),
  );
}

export function sectionsOf(objects: readonly BundleObject[], extra: JsonObject): Record<string, JsonObject> {
  const sections: Record<string, Record<string, JsonObject>> = {};
  for (const { collection, key, object } of objects) (sections[collection] ??= {})[key] = asJson(object);
  const others = Object.entries(extra).flatMap(([type, section]) => (isJsonObject(section) ? [[type, section]] : []));
  return { ...Object.fromEntries(others), ...sections };
}
