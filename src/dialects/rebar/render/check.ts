import type { ObjectOf, TemplateInfo } from "../objects.ts";
import { askModule, type Templates } from "./ask.ts";

/** See `go/rebar/set.go`. */
interface Checked {
  readonly templates: readonly Complaint[];
  readonly paths: readonly Complaint[];
}
interface Complaint {
  readonly at: number;
  readonly message: string;
}
interface Texts {
  readonly templates: readonly { readonly name: string; readonly text: string; readonly isInline?: boolean }[];
  readonly paths: readonly { readonly shown: string; readonly path: string }[];
}

async function checkTemplates(
  templates: Templates,
  infos: readonly TemplateInfo[],
  bootParams: readonly string[],
): Promise<readonly string[]> {
  const inline = infos.filter(({ Contents }) => Contents !== "");
  const placed = infos.filter(({ Path }) => Path !== "");
  const checked = await ask(templates, {
    templates: [
      ...inline.map(({ Name, Contents }) => ({ name: Name, text: Contents, isInline: true })),
      ...bootParams.map((text) => ({ name: "machine", text, isInline: true })),
    ],
    paths: placed.map(({ Name, Path }) => ({ shown: Name, path: Path })),
  });
  if (typeof checked === "string") return [checked];
  const paths = checked.paths.map(({ at, message }) => {
    const { Name = "", Path = "" } = placed[at] ?? {};
    return `Error compiling path template ${Name} (${Path}): ${message}`;
  });
  const texts = checked.templates.map(({ at, message }) =>
    at < inline.length
      ? `Error parsing inline templates: ${message}`
      : `Error compiling boot parameter template: ${message}`,
  );
  return [...paths, ...texts];
}

export async function checkObject(
  templates: Templates,
  object: ObjectOf["tasks" | "stages" | "bootenvs" | "templates"],
): Promise<readonly string[]> {
  if ("ID" in object) {
    const checked = await ask(templates, { templates: [{ name: object.ID, text: object.Contents }], paths: [] });
    return typeof checked === "string" ? [checked] : checked.templates.map(({ message }) => `Parse error: ${message}`);
  }
  return checkTemplates(templates, object.Templates, "BootParams" in object ? bootParamsOf(object) : []);
}

const bootParamsOf = ({ BootParams, OS }: ObjectOf["bootenvs"]): readonly string[] =>
  [BootParams, ...Object.values(OS.SupportedArchitectures).map((arch) => arch.BootParams)].filter(
    (text) => text !== "",
  );

/** A text instead of an answer says why there is none. */
async function ask(templates: Templates, texts: Texts): Promise<Checked | string> {
  if (texts.templates.length + texts.paths.length === 0) return { templates: [], paths: [] };
  const asked = await askModule<Checked>(templates, JSON.stringify({ operation: "rebarCheck", ...texts }));
  return asked.ok ? asked.value : asked.error.message;
}
