import { defined, err, type JsonObject, objectAt, ok, type Result, textAt } from "#lib/base/index.ts";
import type { HelmRendering } from "#kernel/template/index.ts";
import type { Provider } from "../ops/provider.ts";
import { failure } from "../ops/form.ts";
import { inputOf, returning } from "../ops/use-case-value.ts";
import type { SourceScope, UseCaseParts } from "./parts.ts";
import { type OpenedSource, withSource } from "./open-source.ts";
import { readPacked, SizeBudget, within } from "./tree.ts";

/** `render/helm` and `helm/render`: the objects of a chart, with the values in `parameters` or `values`. */
export const renderHelm =
  (parts: UseCaseParts): Provider =>
  async (value, scope) => {
    const rendered = await renderChart(inputOf(value), scope, parts);
    if (!rendered.ok) return failure(rendered.error);
    const { objects, notes } = rendered.value;
    // The two actions call them differently.
    return returning({ objects: [...objects], resources: [...objects], ...defined({ notes }) });
  };

/** Reads the source and renders the chart in it. */
export async function renderChart(
  input: JsonObject,
  scope: SourceScope,
  parts: UseCaseParts,
): Promise<Result<HelmRendering, string>> {
  const chart = objectAt(input, "chart");
  const from = chart === undefined ? input : { ...input, ...chart };
  if (chart?.["repoURL"] !== undefined)
    return err("chart.repoURL: chart repositories are not supported; give the URL of the .tgz file as chart.source");
  if (input["valuesFrom"] !== undefined) return err("valuesFrom: not supported; use values");
  return await withSource(from, scope, parts, (source) => renderSource(input, source, scope, parts));
}

async function renderSource(
  input: JsonObject,
  { tree, folder }: OpenedSource,
  scope: SourceScope,
  { templates }: UseCaseParts,
): Promise<Result<HelmRendering, string>> {
  const { name, namespace, revisionNumber } = scope.app.identity;
  const files = await unpacked(within(tree.files, folder));
  const release = {
    name: textAt(input, "release", "name") ?? name,
    namespace: textAt(input, "release", "namespace") ?? namespace,
    revision: Math.max(1, revisionNumber),
  };
  const values = objectAt(input, "parameters") ?? objectAt(input, "values") ?? {};
  const rendered = await templates.renderChart({ files, release, values }, scope.signal);
  if (rendered.ok) return ok(rendered.value);
  const { message, problems } = rendered.error;
  return err(problems.length === 0 ? message : problems.map((problem) => problem.message).join("; "));
}

/** Texts by path, with packed sub-charts in their folders. */
async function unpacked(files: ReadonlyMap<string, Buffer>): Promise<Readonly<Record<string, string>>> {
  const texts: Record<string, string> = {};
  // A chart with all its sub-charts is one source.
  const budget = new SizeBudget();
  for (const content of files.values()) budget.take(content.length);
  for (const [path, content] of files) {
    const packed = /^(.*\/)?charts\/([^/]+)\.tgz$/.exec(path);
    if (packed === null) texts[path] = content.toString();
    else
      for (const [inner, part] of await readPacked(once(content), budget))
        texts[`${packed[1] ?? ""}charts/${packed[2]}/${inner}`] = part.toString();
  }
  return texts;
}

async function* once(content: Buffer): AsyncGenerator<Buffer, void> {
  yield await Promise.resolve(content);
}
