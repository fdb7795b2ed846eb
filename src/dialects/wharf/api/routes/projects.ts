import type { Stored } from "#kernel/model/index.ts";
import type { JsonObject } from "#lib/base/index.ts";
import { hasPassword } from "../../clone/source-url.ts";
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

// Requests about projects. A change replaces all of a project, as the original does, but for what the request has no member for: branches and
// overrides have requests of their own, and a Secret that somebody has named with kubectl is not known by any number.

/** What projects are asked by; overrides count as what they stand for. */
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

/** The project that a path names. */
export const projectIdOf = (context: RestContext): number => uintOf("projectId", context.req.param("projectId") ?? "");

/** Projects and what people want of them otherwise than their provider. */
export function addProjectRoutes(api: Api, parts: ApiParts): void {
  const { repository, providers, tokens } = parts;
  // Its provider is shown with a project, as far as it is there.
  const jsonOf = (project: Stored<Project>): JsonObject => {
    const provider = providers.find(project.spec.providerId ?? 0);
    return projectJson(project, provider === undefined ? null : providerJson(provider));
  };
  // What a request newly refers to has to be there; what was referred to before may have gone since.
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
  // A project of kubectl has no number for a moment, and cannot be told to clients before it has.
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
  // Builds of it stay: what was built is not undone by forgetting where it came from.
  api.delete("/api/project/:projectId", async (context) => {
    await repository.deleteProject(projectIdOf(context));
    return context.body(null, 204);
  });
  addOverrideRoutes(api, parts);
}

/** What a change of a project over REST leaves as it is. */
const kept = ({ projectId, remoteProjectId, branches, overrides }: Project["spec"]): Partial<Project["spec"]> => ({
  ...(projectId === undefined ? {} : { projectId }),
  ...(remoteProjectId === undefined ? {} : { remoteProjectId }),
  ...(branches === undefined ? {} : { branches }),
  ...(overrides === undefined ? {} : { overrides }),
});

/** The number of a token that a project names. */
const tokenIn = ({ tokenSecretRef }: Pick<Project["spec"], "tokenSecretRef">): number =>
  Number(/^wharf-token-(\d+)$/.exec(tokenSecretRef?.name ?? "")?.[1] ?? 0);

/** Everything is replaced; a Secret that is no token of this API is kept unless another one is named. */
function readProject(fields: Fields, before: Project["spec"] | undefined): Omit<Project["spec"], "projectId"> {
  const tokenId = fields.number("tokenId");
  const providerId = fields.number("providerId");
  // Empty texts are left out, so that objects made over REST look like those that people write.
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
  // A Secret that has no number cannot be told by one, and would be lost by every change over REST.
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

/** Whoever reads a project would read it. */
const noPassword = "gitUrl: expected an address without a password; POST /api/token keeps it, and tokenId names it";

/** What people want otherwise than the provider tells it. Deleting it brings back what the provider has told. */
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

/** The branch that is built when none is named. */
export function defaultBranchOf({ spec }: Project): string {
  const branch = spec.branches?.find((one) => one.default === true)?.name;
  if (branch !== undefined) return branch;
  throw refuse(
    "record-not-found",
    `project with ID ${spec.projectId ?? 0} has no default branch, and no branch was named`,
  );
}
