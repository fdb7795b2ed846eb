import { readFile, writeFile } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue, objectsAt, textAt } from "#lib/base/index.ts";
import { bundleOf, formattedBundle, readDocument, unbundle } from "../bundle.ts";
import type { Flag } from "../arguments.ts";
import { type Call, CliError, exactly, none, type Query, type Verb } from "../verb.ts";

const replaceFlag: readonly Flag[] = [
  { name: "replace-writable", summary: "replace identically named writable objects" },
];

export const contentVerbs: readonly Verb[] = [
  {
    words: ["contents", "list"],
    usage: "",
    summary: "List the installed content bundles",
    arity: { ...none, complaint: "does not support filtering" },
    run: async (call) => call.print(await call.get(["contents"])),
  },
  {
    words: ["contents", "show"],
    usage: "[id]",
    summary: "Show a single content layer referenced by [id]",
    arity: exactly(1),
    run: async (call) => call.print(await call.get(["contents", call.args[0] ?? ""])),
  },
  {
    words: ["contents", "exists"],
    usage: "[id]",
    summary: "See if content layer referenced by [id] exists",
    arity: exactly(1),
    async run(call) {
      const [id = ""] = call.args;
      await call.get(["contents", id]).catch(() => {
        throw new CliError(`content:${id} does not exist`);
      });
    },
  },
  {
    words: ["contents", "create"],
    usage: "[json]",
    summary: "Add a new content layer to the system",
    arity: exactly(1),
    flags: replaceFlag,
    async run(call) {
      const body = await layerOf(call, call.args[0] ?? "");
      call.print((await call.request("POST", ["contents"], { body, query: replacing(call) })).json);
    },
  },
  {
    words: ["contents", "update"],
    usage: "[id] [json]",
    summary: "Replace a content layer in the system.",
    arity: exactly(2),
    flags: replaceFlag,
    async run(call) {
      const [id = "", source = ""] = call.args;
      const body = await layerOf(call, source);
      const name = nameOf(body);
      if (id !== name) throw new CliError(`Passed ID ${id} does not match layer ID ${name}`);
      call.print((await call.request("PUT", ["contents", id], { body, query: replacing(call) })).json);
    },
  },
  {
    words: ["contents", "upload"],
    usage: "[json]",
    summary: "Upload a content layer into the system, replacing the earlier one if needed.",
    arity: { ...exactly(1), complaint: "requires 1 arguments" },
    flags: replaceFlag,
    async run(call) {
      const body = await layerOf(call, call.args[0] ?? "");
      const name = nameOf(body);
      const there = objectsAt({ list: await call.get(["contents"]) }, "list");
      const isThere = there.some((layer) => textAt(layer, "meta", "Name") === name);
      const request = { body, query: replacing(call) };
      const answer = isThere
        ? await call.request("PUT", ["contents", name], request)
        : await call.request("POST", ["contents"], request);
      call.print(answer.json);
    },
  },
  {
    words: ["contents", "destroy"],
    usage: "[id]",
    summary: "Remove the content layer [id] from the system.",
    arity: { ...exactly(1), complaint: "requires 1 arguments" },
    async run(call) {
      await call.request("DELETE", ["contents", call.args[0] ?? ""]);
      call.write(`Deleted content ${call.args[0] ?? ""}`);
    },
  },
  {
    words: ["contents", "bundle"],
    usage: "[file] [meta fields]",
    summary: "Bundle the current directory into [file]. [meta fields] allows for the specification of the meta data.",
    arity: { least: 1, most: Number.POSITIVE_INFINITY, complaint: "!Must provide a file" },
    isOffline: true,
    async run(call) {
      const [file = "", ...fields] = call.args;
      const content = await bundleOf(call.directory, metaOf(fields));
      await writeFile(resolve(call.directory, file), formattedBundle(content, file));
    },
  },
  {
    words: ["contents", "unbundle"],
    usage: "[file]",
    summary: "Expand the content bundle [file] into the current directory",
    arity: { ...exactly(1), complaint: "!Must provide a file" },
    isOffline: true,
    async run(call) {
      const [file = ""] = call.args;
      await unbundle(await storedLayer(call, file), call.directory, extname(file) === ".json");
    },
  },
  {
    words: ["contents", "convert"],
    usage: "[file]",
    summary: "Expand the content bundle [file or - for stdin] into DRP as read-write objects",
    arity: { ...exactly(1), complaint: "!Must provide a file or stdin" },
    async run(call) {
      const [file = ""] = call.args;
      const content = file === "-" ? await call.read("-") : await storedLayer(call, file);
      const sections = isJsonObject(content) && isJsonObject(content["sections"]) ? content["sections"] : {};
      for (const [collection, section] of Object.entries(sections))
        for (const object of Object.values(isJsonObject(section) ? section : {}).filter(isJsonObject))
          await call.request("POST", [collection], { body: object });
    },
  },
];

const replacing = (call: Call): Query => (call.flags.has("replace-writable") ? [["replaceWritable", "true"]] : []);

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
