import { type JsonObject, objectAt, type Problem } from "#lib/base/index.ts";
import { createMergePatch } from "#lib/json/index.ts";
import { readYaml, writeYaml } from "#lib/yaml/index.ts";
import { exitCode, type Invocation, printProblems, UsageError, withSession } from "#kernel/command/index.ts";
import { type ApiClient, getOrUndefined, refTo } from "#kernel/kit/index.ts";
import { asJson, type KubeObject, type Stored } from "#kernel/model/index.ts";
import type { Cue } from "#kernel/template/index.ts";
import { definitionsOf, sourcesOfObjects } from "../definitions/find.ts";
import { definitionTypes, typeFacts } from "../definitions/types.ts";
import { fieldManager } from "../delivery/apply-object.ts";
import { documents } from "../document.ts";
import { Application, Package } from "../kinds.ts";
import { nameOf } from "../labels.ts";
import { commandBudgetMs, library, openCue } from "../library.ts";
import { type Preview, renderOffline } from "../offline.ts";
import { stepsOf } from "../view.ts";
import { listRevisions } from "../revision/store.ts";
import { systemNamespaceOf } from "../settings.ts";
import { readDefinitions } from "./def-files.ts";

export interface DryRunOptions {
  readonly file?: readonly string[];
  readonly definitions?: readonly string[];
  readonly diff?: boolean;
}

/** Prints what applications would apply, or how that differs from what is there. */
export async function dryRun(invocation: Invocation<unknown>, options: DryRunOptions): Promise<number> {
  const { environment, host, signal } = invocation;
  const { file = [], definitions: words = [], diff = false } = options;
  if (file.length === 0) throw new UsageError("name the applications: slipway dry-run -f FILE");
  const read = await readFiles(file, environment.directory);
  if (printProblems(read.problems, environment.err)) return exitCode.usage;
  const applications = read.objects.filter(({ kind }) => kind === Application.kind);
  if (applications.length === 0) throw new UsageError(`${file.join(", ")}: no Application`);
  const templates = await host.openTemplates();
  try {
    const cue = openCue(templates, commandBudgetMs);
    const systemNamespace = systemNamespaceOf(environment.variable);
    const given = await readDefinitions(words, environment.directory, cue, systemNamespace);
    const problems = given.flatMap((one) => one.problems);
    if (printProblems(problems, environment.err)) return exitCode.usage;
    const objects = [...read.objects, ...given.flatMap(({ object }) => object ?? [])];
    if (!diff) return await printAll(invocation, { applications, objects, cue, systemNamespace, signal });
    return await withSession(invocation, (session) =>
      printDifferences(
        invocation,
        { applications, objects, cue, systemNamespace, signal },
        session.client,
        session.namespace,
      ),
    );
  } finally {
    await templates.close();
  }
}

interface Work {
  readonly applications: readonly KubeObject[];
  /** Definitions, Workflows and Policies of the files among them. */
  readonly objects: readonly KubeObject[];
  readonly cue: Cue;
  readonly systemNamespace: string;
  readonly signal: AbortSignal;
}

async function readFiles(paths: readonly string[], directory: string) {
  const { readSources } = await import("#kernel/command/index.node.ts");
  const objects: KubeObject[] = [];
  const problems: Problem[] = [];
  for (const source of await readSources(paths, { directory })) {
    if ("problem" in source) problems.push(source.problem);
    else {
      const yaml = readYaml(source.text, { file: source.file });
      if (!yaml.ok) problems.push(...yaml.error);
      else
        for (const document of yaml.value.documents) {
          if (document.value === null || !documents.detect(document)) continue;
          const found = documents.read(document);
          problems.push(...found.problems);
          if (found.object !== undefined) objects.push(found.object);
        }
    }
  }
  return { objects, problems };
}

async function printAll({ environment }: Invocation<unknown>, work: Work): Promise<number> {
  const definitions = definitionsOf(sourcesOfObjects(work.objects, { shipped: library.definitions, ...work }));
  const texts: string[] = [];
  for (const application of work.applications) {
    const early = stepsOf(application).flatMap(({ stage, name }) => (stage === "pre-render" ? [`"${name}"`] : []));
    if (early.length > 0)
      environment.err.write(
        `slipway: application/${application.metadata.name ?? ""}: only a control plane runs ${early.join(", ")}, whose changes are not shown\n`,
      );
    const rendered = await renderOffline({ ...work, application, definitions, revisions: [] });
    if (!rendered.ok) return refuse(environment.err, application, rendered.error);
    texts.push(...rendered.value.objects.map(({ key, object }) => `# ${key}\n${textOf(object)}`));
  }
  environment.out.write(texts.join("---\n"));
  return exitCode.succeeded;
}

const textOf = (object: KubeObject): string => writeYaml(asJson(object), { keys: "given" });

function refuse(err: { write(text: string): void }, { metadata }: KubeObject, problems: readonly string[]): number {
  for (const problem of problems) err.write(`slipway: application/${metadata.name ?? ""}: ${problem}\n`);
  return exitCode.usage;
}

/** The exit code is 1 if anything would change. */
async function printDifferences(
  { environment, clock, signal }: Invocation<unknown>,
  work: Work,
  client: ApiClient,
  usual: string,
): Promise<number> {
  const stored = await storedDefinitions(client, signal);
  const sources = sourcesOfObjects([...work.objects, ...stored], { shipped: library.definitions, ...work });
  const definitions = definitionsOf(sources);
  let isDifferent = false;
  for (const one of work.applications) {
    const namespace = one.metadata.namespace ?? usual;
    const application = { ...one, metadata: { ...one.metadata, namespace } };
    // Without its uid the live object's labels are enough.
    const revisions = await listRevisions({ client, clock, signal }, application as Stored);
    const rendered = await renderOffline({ ...work, application, definitions, revisions });
    if (!rendered.ok) return refuse(environment.err, application, rendered.error);
    for (const line of await linesOf(rendered.value, client, signal)) {
      isDifferent = true;
      environment.out.write(line);
    }
  }
  return isDifferent ? exitCode.failed : exitCode.succeeded;
}

async function storedDefinitions(client: ApiClient, signal: AbortSignal): Promise<readonly Stored[]> {
  const kinds = [...definitionTypes.map((type) => typeFacts[type].kind), Package];
  const lists = await Promise.all(kinds.map((kind) => client.list(kind, { signal })));
  return lists.flatMap(({ items }) => items);
}

/** `+` for new objects and `~` for changed ones, with a merge patch of what changes. */
async function linesOf({ objects }: Preview, client: ApiClient, signal: AbortSignal): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { object } of objects) {
    const type = await client.resourceType(object.apiVersion, object.kind);
    const ref = type === undefined ? undefined : refTo(type, object);
    const live = ref === undefined ? undefined : await getOrUndefined(client, ref, signal);
    if (ref === undefined || live === undefined) {
      lines.push(`+ ${nameOf(object)}\n`);
      continue;
    }
    const patch = { type: "apply", body: asJson(object), force: true } as const;
    const next = await client.patch(ref, patch, { fieldManager, dryRun: true, signal });
    const change = createMergePatch(comparable(live), comparable(next));
    if (change !== undefined) lines.push(`~ ${nameOf(object)}\n${indented(writeYaml(change, { keys: "given" }))}`);
  }
  return lines;
}

/** Without what the server notes of each write. */
function comparable(object: Stored): JsonObject {
  const { metadata: _metadata, status: _status, ...rest } = asJson(object);
  const { labels = {}, annotations = {} } = objectAt(asJson(object), "metadata") ?? {};
  return { ...rest, metadata: { labels, annotations } };
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, "    ");
