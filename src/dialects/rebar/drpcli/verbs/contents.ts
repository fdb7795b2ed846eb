import { readFile, writeFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue, objectsAt, textAt } from "#lib/base/index.ts";
import { bundleOf, formattedBundle, readDocument, unbundle } from "../bundle.ts";
import { type Call, CliError, type Runs } from "../verb.ts";

export const contentRuns: Runs = {
  async exists(call) {
    const [id = ""] = call.args;
    await call.get(["contents", id]).catch(() => {
      throw new CliError(`content:${id} does not exist`);
    });
  },
  create: async (call) => call.print(await call.send("POST", ["contents"], await layerOf(call, call.args[0] ?? ""))),
  async update(call) {
    const [id = "", source = ""] = call.args;
    const body = await layerOf(call, source);
    const name = nameOf(body);
    if (id !== name) throw new CliError(`Passed ID ${id} does not match layer ID ${name}`);
    call.print(await call.send("PUT", ["contents", id], body));
  },
  async upload(call) {
    const body = await layerOf(call, call.args[0] ?? "");
    const name = nameOf(body);
    const there = objectsAt({ list: await call.get(["contents"]) }, "list");
    const isThere = there.some((layer) => textAt(layer, "meta", "Name") === name);
    call.print(await call.send(isThere ? "PUT" : "POST", isThere ? ["contents", name] : ["contents"], body));
  },
  async destroy(call) {
    await call.send("DELETE", ["contents", call.args[0] ?? ""]);
    call.write(`Deleted content ${call.args[0] ?? ""}`);
  },
  async bundle(call) {
    const [file = "", ...fields] = call.args;
    const content = await bundleOf(call.directory, metaOf(fields));
    await writeFile(resolve(call.directory, file), formattedBundle(content, file));
  },
  async unbundle(call) {
    const [file = ""] = call.args;
    await unbundle(await storedLayer(call, file), call.directory, extname(file) === ".json");
  },
  async convert(call) {
    const [file = ""] = call.args;
    const content = file === "-" ? await call.read("-") : await storedLayer(call, file);
    const sections = isJsonObject(content) && isJsonObject(content["sections"]) ? content["sections"] : {};
    for (const [collection, section] of Object.entries(sections))
      for (const object of Object.values(isJsonObject(section) ? section : {}).filter(isJsonObject))
        await call.send("POST", [collection], object);
  },
};

async function layerOf(call: Call, source: string): Promise<JsonObject> {
  const layer = await call.read(source);
  if (!isJsonObject(layer)) throw new CliError("Error parsing layer: expected an object with meta and sections");
  return layer;
}

const nameOf = (layer: JsonObject): string => textAt(layer, "meta", "Name") ?? "";

function metaOf(fields: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    fields.map((field) => {
      const at = field.indexOf("=");
      if (at < 0) throw new CliError("Meta fields must have '=' in them");
      return [field.slice(0, at), field.slice(at + 1)];
    }),
  );
}

async function storedLayer(call: Call, file: string): Promise<JsonValue> {
  if (!/^\.(?:ya?ml|json)$/.test(extname(file))) throw new CliError(`Unknown store extension ${extname(file)}`);
  return readDocument(await readFile(resolve(call.directory, file), "utf8"), file);
}
