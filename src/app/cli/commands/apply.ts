import type { JsonValue } from "#lib/base/index.ts";
import type { KubeObject, Stored } from "#kernel/model/index.ts";
import { command, exitCode, UsageError, withSession } from "#kernel/command/index.ts";
import { type Format, parseFormat } from "../output/formats.ts";

interface ApplyOptions {
  readonly filename?: readonly string[];
  readonly output?: string;
  readonly dryRun: "none" | "server";
  readonly forceConflicts?: boolean;
  readonly fieldManager: string;
  readonly namespace?: string;
}

/** Server-side apply, as `kubectl apply --server-side`. Continues after an object that fails, and exits with 1 then. */
export const applyCommand = command<ApplyOptions>({
  name: "apply",
  args: ["[files...]"],
  summary: "Create or update objects from files: templates, schedules, Secrets",
  group: "Documents",
  examples: [
    "slipway apply -f examples/workflow/templates.yaml",
    "slipway apply -f examples/workflow/nightly.yaml --dry-run=server -o yaml",
  ],
  options: [
    { flags: "-f, --filename <file>", summary: "file, folder or - for stdin; may be repeated", repeatable: true },
    { flags: "-o, --output <format>", summary: "print the objects: json, yaml, name or jsonpath=TEMPLATE" },
    {
      flags: "--dry-run <mode>",
      summary: "server: check everything and store nothing",
      choices: ["none", "server"],
      initial: "none",
    },
    { flags: "--force-conflicts", summary: "take over fields that other managers own" },
    { flags: "--field-manager <name>", summary: "the field manager of the change", initial: "slipway" },
  ],
  completes: ["file"],
  async action(invocation) {
    const { getOrUndefined } = await import("#kernel/kit/index.ts");
    const { forEach, readManifests, refOf, titleOf } = await import("../manifests.ts");
    const { environment, options, rest, signal } = invocation;
    const files = [...rest, ...(options.filename ?? [])];
    if (files.length === 0) throw new UsageError("name the files to apply: slipway apply -f FILE");
    const format = options.output === undefined ? undefined : objectFormat(options.output);
    const objects = await readManifests(files, environment);
    const isDry = options.dryRun === "server";
    return await withSession(invocation, async ({ client, namespace }) => {
      const applied: Stored[] = [];
      const isWell = await forEach(
        objects,
        async (object) => {
          const ref = await refOf(client, object, namespace, options.namespace);
          const before = await getOrUndefined(client, ref);
          const after = await client.patch(
            ref,
            { type: "apply", body: placedIn(object, ref.namespace), force: options.forceConflicts === true },
            { fieldManager: options.fieldManager, dryRun: isDry, signal },
          );
          applied.push(after);
          if (format !== undefined) return;
          const isSame = before?.metadata.resourceVersion === after.metadata.resourceVersion;
          const done = before === undefined ? "created" : isSame ? "unchanged" : "configured";
          environment.out.write(`${titleOf(ref)} ${done}${isDry ? " (server dry run)" : ""}\n`);
        },
        environment,
      );
      if (format !== undefined) {
        const { formatObjects } = await import("../output/formats.ts");
        environment.out.write(await formatObjects(applied, objects.length === 1, format));
      }
      return isWell ? exitCode.succeeded : exitCode.failed;
    });
  },
});

const placedIn = (object: KubeObject, namespace: string | undefined): JsonValue =>
  JSON.parse(
    JSON.stringify(namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } }),
  );

/** Refuses the formats that print tables. */
export function objectFormat(text: string): Exclude<Format, { kind: "table" }> {
  const format = parseFormat(text);
  if (format.kind === "table")
    throw new UsageError(`no output format "${text}" here: expected json, yaml, name or jsonpath=TEMPLATE`);
  return format;
}
