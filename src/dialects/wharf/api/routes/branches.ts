import { isJsonObject, type JsonObject } from "#lib/base/index.ts";
import type { Project } from "../../kinds.ts";
import { sendJson } from "../../http/rest-api.ts";
import { Fields } from "../body.ts";
import { branchesJson } from "../json.ts";
import { projectIdOf } from "./projects.ts";
import type { Api, ApiParts } from "./parts.ts";

type Branches = NonNullable<Project["spec"]["branches"]>;

export function addBranchRoutes(api: Api, { repository }: ApiParts): void {
  const path = "/api/project/:projectId/branch";
  const defaultOf = (branches: readonly JsonObject[]) => branches.find((one) => one["default"] === true) ?? null;
  api.get(path, (context) => {
    const list = branchesJson(repository.project(projectIdOf(context)));
    return sendJson(context, { list, totalCount: list.length, defaultBranch: defaultOf(list) });
  });
  // Importers repeat existing branches.
  api.post(path, async (context) => {
    const fields = await Fields.read(context);
    const branch = { name: fields.required("name"), default: fields.flag("default") };
    fields.done();
    const project = await repository.updateProject(projectIdOf(context), ({ branches = [], ...spec }) => ({
      ...spec,
      branches: withBranch(branches, branch),
    }));
    const created = branchesJson(project).find(({ name }) => name === branch.name);
    return sendJson(context, created, 201);
  });
  api.put(path, async (context) => {
    const fields = await Fields.read(context);
    const defaultBranch = fields.text("defaultBranch");
    const names = readNames(fields);
    if (defaultBranch !== "" && !names.includes(defaultBranch))
      fields.problem("defaultBranch: expected the name of one of the branches");
    fields.done();
    const project = await repository.updateProject(projectIdOf(context), (spec) => ({
      ...spec,
      branches: names.map((name) => ({ name, default: name === defaultBranch })),
    }));
    const branches = branchesJson(project);
    // The original answers PUT in another shape.
    return sendJson(context, { defaultBranch: defaultOf(branches), branches });
  });
}

/** An existing branch keeps its position. */
function withBranch(branches: Branches, { name, default: isDefault }: Required<Branches[number]>): Branches {
  const others = isDefault ? branches.map((one) => ({ ...one, default: one.name === name })) : branches;
  return others.some((one) => one.name === name) ? others : [...others, { name, default: isDefault }];
}

function readNames(fields: Fields): readonly string[] {
  const list = fields.value("branches") ?? [];
  if (!Array.isArray(list)) {
    fields.problem("branches: expected a list");
    return [];
  }
  const names = list.flatMap((item, at) => {
    const name = isJsonObject(item) ? item["name"] : undefined;
    if (typeof name === "string" && name !== "") return [name];
    fields.problem(`branches[${at}].name: expected a text that is not empty`);
    return [];
  });
  return [...new Set(names)];
}
