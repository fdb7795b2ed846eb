import { err, isJsonObject, type JsonObject, objectAt, objectsAt, ok, type Result, textAt } from "#lib/base/index.ts";
import { mergeByName } from "../sources/merge.ts";

/** The application that a template renders: `value`, or the one among `objects`, with `patch` merged into it. */
export function wantedApplication(input: JsonObject, name: string): Result<JsonObject, string> {
  const given = objectAt(input, "value");
  const rendered = given === undefined ? chooseApplication(objectsAt(input, "objects"), name) : ok(given);
  if (!rendered.ok) return rendered;
  const patch = input["patch"];
  const merged = patch === undefined ? rendered.value : mergeByName(rendered.value, patch);
  return isJsonObject(merged) && isJsonObject(merged["spec"])
    ? ok(merged)
    : err("the rendered Application has no spec");
}

function chooseApplication(objects: readonly JsonObject[], name: string): Result<JsonObject, string> {
  const found = objects.filter(
    (object) => object["kind"] === "Application" && textAt(object, "apiVersion")?.startsWith("core.oam.dev/"),
  );
  const [only] = found;
  const own =
    found.find((object) => textAt(object, "metadata", "name") === name) ?? (found.length === 1 ? only : undefined);
  if (own !== undefined) return ok(own);
  const kinds = [...new Set(objects.map((object) => textAt(object, "kind") ?? "nothing"))].join(", ");
  return found.length === 0
    ? err(`the template renders no Application of core.oam.dev/v1beta1; found ${kinds === "" ? "nothing" : kinds}`)
    : err(`the template renders ${found.length} Applications, and none is named ${name}`);
}
