import type { BootEnv, Stage, Task, Template, TemplateInfo } from "../objects.ts";
import type { World } from "../world.ts";
import { type Part, partOfText } from "./parts.ts";

export type Renderable = Task | Stage | BootEnv;

/** The templates that an object can reach, as one part of a question. */
export interface Closure {
  readonly object: Renderable;
  readonly extra: number;
  /** By ID; undefined: there is none. */
  readonly templates: ReadonlyMap<string, Template | undefined>;
  readonly set: Part;
  readonly absent: readonly string[];
  /** Params that texts name literally. */
  readonly params: readonly string[];
  readonly composed: readonly string[];
}

/** True if nothing of it has changed. */
export const isCurrent = (closure: Closure, object: Renderable, extra: ReadonlySet<string>, world: World): boolean =>
  closure.object === object &&
  closure.extra === extra.size &&
  [...closure.templates].every(([id, template]) => world.get("templates", id) === template);

/** `extra` are templates whose names are computed while rendering. */
export function closureOf(object: Renderable, extra: ReadonlySet<string>, world: World): Closure {
  const inline = object.Templates.filter(({ ID, Contents }) => ID === "" && Contents !== "");
  const linked = object.Templates.filter(({ Link }) => Link !== "");
  const isInline = new Set([...inline.map(({ Name }) => Name), ...linked.map(linkName)]);
  const texts = [
    ...inline.map(({ Contents }) => Contents),
    ...object.Templates.flatMap(({ Path, Link }) => [Path, Link]),
  ];
  const templates = new Map<string, Template | undefined>();
  const add = (id: string): void => {
    if (templates.has(id) || isInline.has(id)) return;
    const template = world.get("templates", id) ?? definerOf(id, world);
    templates.set(id, template);
    if (template !== undefined) texts.push(template.Contents);
  };
  for (const id of extra) add(id);
  for (const { ID } of object.Templates) if (ID !== "") add(ID);
  // The list grows while it is walked.
  for (const text of texts)
    for (const name of quotedIn(text)) if (world.get("templates", name) !== undefined) add(name);
  const present = [...new Set(templates.values())].filter((template) => template !== undefined);
  const source = {
    templates: [
      ...present.map(({ ID, Contents }) => ({ name: ID, text: Contents })),
      ...inline.map(({ Name, Contents }) => ({ name: Name, text: Contents, isInline: true })),
      ...linked.map((info) => ({ name: linkName(info), text: info.Link, isInline: true })),
    ],
    actions: object.Templates.map((info) => ({ name: templateOf(info), shown: info.Name, path: info.Path })),
  };
  return {
    object,
    extra: extra.size,
    templates,
    set: partOfText(JSON.stringify(source)),
    absent: [...templates].filter(([, template]) => template === undefined).map(([id]) => id),
    params: namedAfter(/\.Param(?:Exists|Expand|AsJSON|AsYAML)?\s+"([^"\n]+)"/g, texts),
    composed: namedAfter(/\.(?:ComposeParam|ParamCompose)(?:Expand)?\s+"([^"\n]+)"/g, texts),
  };
}

/** No other template can have this name. */
const linkName = ({ Name }: TemplateInfo): string => `link of ${Name}\n`;

const templateOf = (info: TemplateInfo): string =>
  info.Link === "" ? (info.ID === "" ? info.Name : info.ID) : linkName(info);

/** Names of templates are among them. More than those only cost a look. */
const quotedIn = (text: string): readonly string[] =>
  [...text.matchAll(/["`]([^"`\n]{1,256})["`]/g)].map(([, name = ""]) => name);

const namedAfter = (pattern: RegExp, texts: readonly string[]): readonly string[] => [
  ...new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name))),
];

/** A template whose text defines another one of this name. */
const definerOf = (name: string, world: World): Template | undefined =>
  world.all("templates").find(({ Contents }) => Contents.includes("define") && defines(Contents, name));

const defines = (text: string, name: string): boolean =>
  [...text.matchAll(/\{\{-?\s*define\s+["`]([^"`\n]+)["`]/g)].some(([, defined]) => defined === name);
