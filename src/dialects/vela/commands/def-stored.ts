import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { type Invocation, exitCode, withSession } from "#kernel/command/index.ts";
import { formatTable } from "#kernel/command/index.node.ts";
import { getOrUndefined } from "#kernel/kit/index.ts";
import { asJson, type Stored } from "#kernel/model/index.ts";
import { writeYaml } from "#lib/yaml/index.ts";
import { authoredOf, templateOf } from "../definitions/definition-object.ts";
import type { DefinitionType } from "../definitions/definition.ts";
import { definitionTypes, typeFacts } from "../definitions/types.ts";
import { packagesFor } from "../definitions/packages.ts";
import { Package } from "../kinds.ts";
import { commandBudgetMs, openCue } from "../library.ts";
import { systemNamespaceOf } from "../settings.ts";
import type { DefOptions } from "./def-options.ts";

type Place = Parameters<Parameters<typeof withSession>[1]>[0];

const typesOf = ({ type }: DefOptions): readonly DefinitionType[] =>
  definitionTypes.filter((candidate) => type === undefined || candidate === type);

/** All definitions that are stored, by type and name. */
export async function listDefinitions(invocation: Invocation<DefOptions>): Promise<number> {
  const { options, environment, signal } = invocation;
  return await withSession(invocation, async ({ client }) => {
    const namespace = options.namespace === undefined ? {} : { namespace: options.namespace };
    const rows: string[][] = [];
    for (const type of typesOf(options)) {
      const { items } = await client.list(typeFacts[type].kind, { ...namespace, signal });
      for (const { metadata } of items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)))
        rows.push([
          metadata.name,
          type,
          metadata.namespace ?? "",
          metadata.annotations?.["definition.oam.dev/description"] ?? "",
        ]);
    }
    environment.out.write(formatTable(["NAME", "TYPE", "NAMESPACE", "DESCRIPTION"], rows));
    return exitCode.succeeded;
  });
}

/** In the namespace of the session, then in the system's; the first type that has the name. */
async function findStored(
  { client, namespace }: Place,
  name: string,
  { options, environment, signal }: Invocation<DefOptions>,
): Promise<Stored | undefined> {
  for (const type of typesOf(options)) {
    for (const place of new Set([namespace, systemNamespaceOf(environment.variable)])) {
      const found = await getOrUndefined(client, { type: typeFacts[type].kind, namespace: place, name }, signal);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

const missing = (name: string, { type }: DefOptions): string =>
  `slipway: no ${type === undefined ? "" : `${type} `}definition "${name}"; slipway def list shows all\n`;

/** False if one is missing. */
export async function getDefinitions(invocation: Invocation<DefOptions>): Promise<boolean> {
  const { rest, options, environment, signal } = invocation;
  const { output = "cue" } = options;
  const templates = output === "cue" ? await invocation.host.openTemplates() : undefined;
  try {
    return await withSession(invocation, async (session) => {
      let isDone = true;
      for (const [index, name] of rest.entries()) {
        const found = await findStored(session, name, invocation);
        const text = found === undefined ? undefined : await textOf(found, output, templates, signal);
        if (text?.ok === true) environment.out.write(`${index > 0 && output === "yaml" ? "---\n" : ""}${text.value}`);
        else environment.err.write(text === undefined ? missing(name, options) : `slipway: ${text.error}\n`);
        isDone &&= text?.ok === true;
      }
      return isDone;
    });
  } finally {
    await templates?.close();
  }
}

type Templates = Awaited<ReturnType<Invocation<DefOptions>["host"]["openTemplates"]>>;

async function textOf(found: Stored, output: string, templates: Templates | undefined, signal: AbortSignal) {
  const { managedFields: _owners, ...metadata } = found.metadata as Stored["metadata"] & { managedFields?: unknown };
  const object = asJson({ ...found, metadata });
  if (templates === undefined)
    return {
      ok: true as const,
      value: output === "json" ? `${JSON.stringify(object, null, 2)}\n` : writeYaml(object, { keys: "given" }),
    };
  const authored = authoredOf(found);
  if (!authored.ok) return authored;
  const written = await openCue(templates, commandBudgetMs).writeDefinition(authored.value, signal);
  return written.ok ? written : { ok: false as const, error: written.error.message };
}

/** The OpenAPI schemas of parameters, of stored definitions or files. */
export async function printSchemas(invocation: Invocation<DefOptions>): Promise<boolean> {
  const { rest, options, environment, signal } = invocation;
  const templates = await invocation.host.openTemplates();
  const cue = openCue(templates, commandBudgetMs);
  const fileOf = (word: string) => path.resolve(environment.directory, word);
  const print = async (word: string, template: string, stored: readonly Stored[] = []): Promise<boolean> => {
    const schema = await cue.schema(template, signal, packagesFor(template, stored));
    if (schema.ok) environment.out.write(`${JSON.stringify(schema.value, null, 2)}\n`);
    else environment.err.write(`slipway: ${word}: ${schema.error.message}\n`);
    return schema.ok;
  };
  try {
    let isDone = true;
    for (const word of rest.filter((one) => existsSync(fileOf(one)))) {
      const read = await cue.readDefinition(await readFile(fileOf(word), "utf8"), word, signal);
      if (!read.ok) environment.err.write(`slipway: ${word}: ${read.error.message}\n`);
      isDone = read.ok && (await print(word, read.value.template)) && isDone;
    }
    const names = rest.filter((one) => !existsSync(fileOf(one)));
    if (names.length === 0) return isDone;
    return await withSession(invocation, async (session) => {
      const { items: packages } = await session.client.list(Package, { signal });
      for (const name of names) {
        const found = await findStored(session, name, invocation);
        if (found === undefined) environment.err.write(missing(name, options));
        isDone = found !== undefined && (await print(name, templateOf(found), packages)) && isDone;
      }
      return isDone;
    });
  } finally {
    await templates.close();
  }
}
