import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { defined, type JsonValue, messageOf, type Problem } from "#lib/base/index.ts";
import { replaceFile } from "#lib/base/index.node.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";
import { exitCode, type Invocation, printProblems, UsageError, withSession } from "#kernel/command/index.ts";
import { asJson, type KubeObject, type ResourceType } from "#kernel/model/index.ts";
import type { Cue, TemplateFailure } from "#kernel/template/index.ts";
import { objectOfAuthored, templateOf } from "../definitions/definition-object.ts";
import { definitionTypes, typeFacts } from "../definitions/types.ts";
import { documents } from "../document.ts";
import { packagesFor } from "../definitions/packages.ts";
import { Package, WorkloadDefinition } from "../kinds.ts";
import { commandBudgetMs, openCue } from "../library.ts";
import { systemNamespaceOf } from "../settings.ts";
import type { DefOptions } from "./def-options.ts";

/** Definitions of a file: one in CUE, or any number in YAML. */
interface DefinitionFile {
  readonly file: string;
  readonly text: string;
}

const isCue = (file: string): boolean => /\.cue$/i.test(file);
const isRead = (file: string): boolean => /\.(?:cue|ya?ml)$/i.test(file);

/** More would be a mistake, such as a home directory. */
const mostFiles = 2000;

/** Files, and the definitions of folders and their folders, by name. */
async function filesOf(words: readonly string[], directory: string): Promise<readonly DefinitionFile[]> {
  const names: string[] = [];
  const add = async (name: string, isNamed: boolean): Promise<void> => {
    const found = await stat(path.resolve(directory, name)).catch((thrown: unknown) => {
      throw new UsageError(`${name}: ${messageOf(thrown)}`);
    });
    if (found.isDirectory()) {
      for (const entry of (await readdir(path.resolve(directory, name))).sort())
        await add(path.join(name, entry), false);
    } else if (isNamed || isRead(name)) names.push(name);
    if (names.length > mostFiles) throw new UsageError(`more than ${mostFiles} files`);
  };
  for (const word of words) await add(word, true);
  if (names.length === 0) throw new UsageError(`${words.join(", ")}: no .cue or .yaml file`);
  return await Promise.all(
    names.map(async (file) => ({ file, text: await readFile(path.resolve(directory, file), "utf8") })),
  );
}

/** An object, or what is wrong. YAML documents of other kinds are left out. */
export interface ReadDefinition {
  readonly object?: KubeObject;
  readonly problems: readonly Problem[];
}

async function readFileOf(
  { file, text }: DefinitionFile,
  cue: Cue,
  namespace: string,
): Promise<readonly ReadDefinition[]> {
  if (!isCue(file)) return readYamlOf({ file, text });
  const read = await cue.readDefinition(text, file);
  if (!read.ok) return [{ problems: problemsOf(read.error, file) }];
  const object = objectOfAuthored(read.value, namespace);
  return [object.ok ? { object: object.value, problems: [] } : { problems: [problemAt(file, object.error)] }];
}

const definitionKinds = [...definitionTypes.map((type) => typeFacts[type].kind), WorkloadDefinition, Package];
const kindOf = (object: KubeObject): ResourceType | undefined =>
  definitionKinds.find(({ kind }) => kind === object.kind);

function readYamlOf({ file, text }: DefinitionFile): readonly ReadDefinition[] {
  const yaml = readYaml(text, { file });
  if (!yaml.ok) return [{ problems: yaml.error }];
  return yaml.value.documents.flatMap((document) => {
    if (document.value === null || !documents.detect(document)) return [];
    const { object, problems } = documents.read(document);
    if (object !== undefined && kindOf(object) === undefined) return [];
    return [{ ...defined({ object }), problems }];
  });
}

const problemAt = (file: string, message: string): Problem => ({
  severity: "error",
  code: "invalid-definition",
  message,
  path: "",
  position: { file, line: 1, column: 1 },
});

/** At their places in the file; those of a template in YAML count from the template's first line. */
function problemsOf({ message, problems }: TemplateFailure, file: string, lead = ""): readonly Problem[] {
  if (problems.length === 0) return [problemAt(file, `${lead}${message}`)];
  return problems.map((problem) => ({
    severity: "error",
    code: "invalid-definition",
    message: `${lead}${problem.message}`,
    path: problem.path ?? "",
    position: { file, line: problem.line ?? 1, column: problem.column ?? 1 },
  }));
}

async function withCue<T>(invocation: Invocation<DefOptions>, work: (cue: Cue) => Promise<T>): Promise<T> {
  const templates = await invocation.host.openTemplates();
  try {
    return await work(openCue(templates, commandBudgetMs));
  } finally {
    await templates.close();
  }
}

/** The definitions of files and folders, for commands that render. */
export async function readDefinitions(
  words: readonly string[],
  directory: string,
  cue: Cue,
  namespace: string,
): Promise<readonly ReadDefinition[]> {
  const all: ReadDefinition[] = [];
  if (words.length > 0)
    for (const file of await filesOf(words, directory)) all.push(...(await readFileOf(file, cue, namespace)));
  return all;
}

/** Server-side apply into the system namespace, or the named one. */
export async function applyDefinitions(invocation: Invocation<DefOptions>): Promise<number> {
  const { rest, options, environment, signal } = invocation;
  const namespace = options.namespace ?? systemNamespaceOf(environment.variable);
  const files = await filesOf(rest, environment.directory);
  const read = await withCue(invocation, async (cue) => {
    const all: ReadDefinition[] = [];
    for (const file of files) all.push(...(await readFileOf(file, cue, namespace)));
    return all;
  });
  if (
    printProblems(
      read.flatMap(({ problems }) => problems),
      environment.err,
    )
  )
    return exitCode.usage;
  const objects = read.flatMap(({ object }) => object ?? []);
  if (objects.length === 0) throw new UsageError(`${rest.join(", ")}: no definition`);
  if (options.print === true) {
    environment.out.write(objects.map((object) => writeYaml(asJson(object), { keys: "given" })).join("---\n"));
    return exitCode.succeeded;
  }
  return await withSession(invocation, async ({ client }) => {
    for (const object of objects) {
      const type = kindOf(object);
      if (type === undefined) continue;
      const place = object.metadata.namespace ?? namespace;
      const body = { ...asJson(object), metadata: { ...(object.metadata as object), namespace: place } } as JsonValue;
      const name = object.metadata.name ?? "";
      await client.patch(
        { type, namespace: place, name },
        { type: "apply", body, force: true },
        { fieldManager: "slipway-def", signal },
      );
      environment.out.write(`${type.kind} ${place}/${name} applied\n`);
    }
    return exitCode.succeeded;
  });
}

/** Every problem of every file. */
export async function vetDefinitions(invocation: Invocation<DefOptions>): Promise<number> {
  const { rest, environment, signal } = invocation;
  const files = await filesOf(rest, environment.directory);
  const { problems, count } = await withCue(invocation, async (cue) => {
    const found: Problem[] = [];
    let definitions = 0;
    const read: (readonly [DefinitionFile, readonly ReadDefinition[]])[] = [];
    for (const file of files) read.push([file, await readFileOf(file, cue, "default")]);
    const objects = read.flatMap(([, all]) => all.flatMap(({ object }) => object ?? []));
    for (const [file, all] of read) {
      for (const { object, problems: own } of all) {
        definitions += 1;
        found.push(...own);
        const template = object === undefined ? "" : templateOf(object);
        const packages = packagesFor(template, objects);
        const vetted = template === "" ? undefined : await cue.vet(template, file.file, signal, packages);
        const lead = isCue(file.file) ? "" : `${object?.kind ?? ""} "${object?.metadata.name ?? ""}": `;
        if (vetted?.ok === false) found.push(...problemsOf(vetted.error, file.file, lead));
      }
    }
    return { problems: found, count: definitions };
  });
  const isWrong = printProblems(problems, environment.out);
  const plural = (number: number, noun: string) => `${number} ${noun}${number === 1 ? "" : "s"}`;
  environment.err.write(`${plural(count, "definition")}, ${plural(problems.length, "problem")}\n`);
  return isWrong ? exitCode.usage : exitCode.succeeded;
}

/** Prints files in today's CUE, or writes them. */
export async function upgradeDefinitions(invocation: Invocation<DefOptions>): Promise<number> {
  const { rest, options, environment, signal } = invocation;
  const files = await filesOf(rest, environment.directory);
  const other = files.find(({ file }) => !isCue(file));
  if (other !== undefined) throw new UsageError(`${other.file}: upgrade is for .cue files`);
  return await withCue(invocation, async (cue) => {
    let code: number = exitCode.succeeded;
    for (const { file, text } of files) {
      const upgraded = await cue.upgrade(text, signal);
      if (!upgraded.ok) {
        printProblems(problemsOf(upgraded.error, file), environment.err);
        code = exitCode.usage;
        continue;
      }
      const { text: now, applied } = upgraded.value;
      for (const change of applied) environment.err.write(`${file}: ${change}\n`);
      if (options.write !== true) environment.out.write(now);
      else if (now !== text) await replaceFile(path.resolve(environment.directory, file), now);
    }
    return code;
  });
}
