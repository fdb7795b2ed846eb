import type { Stored } from "#kernel/model/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { hasPassword } from "#kernel/git/index.ts";
import { refuse } from "../../http/index.ts";
import { type RestContext, sendJson, uintOf } from "../../http/rest-api.ts";
import type { Project } from "../../kinds.ts";
import { movedToken, originOf } from "../../token-origin.ts";
import { boundAnonymous } from "../../http/caller.ts";
import { Fields } from "../body.ts";
import { overridesJson, projectJson, tokenIdOf } from "../json.ts";
import { type ListFields, pageOf } from "../list-query.ts";
import { providerJson } from "./providers.ts";
import type { Api, ApiParts } from "./parts.ts";

// PUT replaces a project as in the original, except branches, overrides and foreign Secrets, which the request
// cannot express.

const projectFields: ListFields<Stored<Project>> = {
  orders: {
    projectId: ({ spec }) => spec.projectId ?? 0,
    name: ({ spec }) => spec.name,
    groupName: ({ spec }) => spec.groupName ?? "",
    description: ({ spec }) => spec.overrides?.description || (spec.description ?? ""),
    gitUrl: ({ spec }) => spec.overrides?.gitUrl || (spec.gitUrl ?? ""),
  },
  usualOrder: "projectId",
  texts: {
    name: ({ spec }) => spec.name,
    groupName: ({ spec }) => spec.groupName ?? "",
    description: ({ spec }) => spec.overrides?.description || (spec.description ?? ""),
    gitUrl: ({ spec }) => spec.overrides?.gitUrl || (spec.gitUrl ?? ""),
  },
  numbers: { tokenId: tokenIdOf, providerId: ({ spec }) => spec.providerId ?? 0 },
  soft: ["name", "groupName", "description", "gitUrl"],
};

export const projectIdOf = (context: RestContext): number => uintOf("projectId", context.req.param("projectId") ?? "");

export function addProjectRoutes(api: Api, parts: ApiParts): void {
  const { repository, providers, tokens } = parts;
  const jsonOf = (project: Stored<Project>): JsonObject => {
    const provider = providers.find(project.spec.providerId ?? 0);
    return projectJson(project, provider === undefined ? null : providerJson(provider));
  };
  // New references must exist; existing ones may be gone.
  const read = async (context: RestContext, before?: Project["spec"]): Promise<Omit<Project["spec"], "projectId">> => {
    const spec = readProject(await Fields.read(context), before);
    const { tokenSecretRef, providerId = 0 } = spec;
    if (tokenSecretRef !== undefined && tokenSecretRef !== before?.tokenSecretRef) tokens.get(tokenIn(spec));
    const { gitUrl = "", overrides = before?.overrides } = spec;
    if (tokenSecretRef !== undefined && tokenIn(spec) > 0)
      await tokens.bind(tokenIn(spec), originOf(overrides?.gitUrl || gitUrl));
    if (providerId > 0 && providerId !== before?.providerId) providers.get(providerId);
    return spec;
  };
  api.get("/api/project", (context) => {
    const numbered = repository.records.projects.list().filter(({ spec }) => spec.projectId !== undefined);
    const { list, totalCount } = pageOf(numbered, new URL(context.req.url).searchParams, projectFields);
    return sendJson(context, { list: list.map(jsonOf), totalCount });
  });
  api.post("/api/project", async (context) => {
    boundAnonymous(context, repository.records.projects.list().length, "projects");
    return sendJson(context, jsonOf(await repository.createProject(await read(context))), 201);
  });
  api.get("/api/project/:projectId", (context) => sendJson(context, jsonOf(repository.project(projectIdOf(context)))));
  api.put("/api/project/:projectId", async (context) => {
    const id = projectIdOf(context);
    const spec = await read(context, repository.project(id).spec);
    return sendJson(context, jsonOf(await repository.updateProject(id, (before) => ({ ...kept(before), ...spec }))));
  });
  api.delete("/api/project/:projectId", async (context) => {
    await repository.deleteProject(projectIdOf(context));
    return context.body(null, 204);
  });
  addOverrideRoutes(api, parts);
}

const kept = ({ projectId, remoteProjectId, branches, overrides }: Project["spec"]): Partial<Project["spec"]> => ({
  ...(projectId === undefined ? {} : { projectId }),
  ...(remoteProjectId === undefined ? {} : { remoteProjectId }),
  ...(branches === undefined ? {} : { branches }),
  ...(overrides === undefined ? {} : { overrides }),
});

const tokenIn = ({ tokenSecretRef }: Pick<Project["spec"], "tokenSecretRef">): number =>
  Number(/^wharf-token-(\d+)$/.exec(tokenSecretRef?.name ?? "")?.[1] ?? 0);

/** Foreign Secrets are kept unless a token is named. */
function readProject(fields: Fields, before: Project["spec"] | undefined): Omit<Project["spec"], "projectId"> {
  const tokenId = fields.number("tokenId");
  const providerId = fields.number("providerId");
  // Empty texts are left out, as people write objects.
  const texts = Object.fromEntries(
    ["groupName", "description", "avatarUrl", "gitUrl", "buildDefinition"].flatMap((name) => {
      const text = fields.text(name);
      return text === "" ? [] : [[name, text]];
    }),
  );
  const remoteProjectId = before === undefined ? fields.text("remoteProjectId") : "";
  const name = fields.required("name");
  if (hasPassword(texts["gitUrl"] ?? "")) fields.problem(noPassword);
  fields.done();
  // A foreign Secret has no number and would be lost by every change.
  const after = { ...before, ...texts };
  const isKept = before !== undefined && tokenIn(before) === 0 && movedToken({ ...before }, after) === undefined;
  const foreign = isKept ? before.tokenSecretRef : undefined;
  const token = tokenId > 0 ? { name: `wharf-token-${tokenId}`, key: "token" } : foreign;
  return {
    name,
    ...texts,
    ...(providerId > 0 ? { providerId } : {}),
    ...(remoteProjectId === "" ? {} : { remoteProjectId }),
    ...(token === undefined ? {} : { tokenSecretRef: token }),
  };
}

const noPassword = "gitUrl: expected an address without a password; POST /api/token keeps it, and tokenId names it";

/** DELETE restores the provider's values. */
function addOverrideRoutes(api: Api, { repository }: ApiParts): void {
  const path = "/api/project/:projectId/override";
  api.get(path, (context) => sendJson(context, overridesJson(repository.project(projectIdOf(context)))));
  api.put(path, async (context) => {
    const fields = await Fields.read(context);
    const overrides = {
      description: fields.text("description"),
      avatarUrl: fields.text("avatarUrl"),
      gitUrl: fields.text("gitUrl"),
    };
    if (hasPassword(overrides.gitUrl)) fields.problem(noPassword);
    fields.done();
    const project = await repository.updateProject(projectIdOf(context), (spec) => ({ ...spec, overrides }));
    return sendJson(context, overridesJson(project));
  });
  api.delete(path, async (context) => {
    await repository.updateProject(projectIdOf(context), ({ overrides: _gone, ...spec }) => spec);
    return context.body(null, 204);
  });
}

export function defaultBranchOf({ spec }: Project): string {
  const branch = spec.branches?.find((one) => one.default === true)?.name;
  if (branch !== undefined) return branch;
  throw refuse(
    "record-not-found",
    `project with ID ${spec.projectId ?? 0} has no default branch, and no branch was named`,
  );
}
