import type { JsonObject } from "#lib/base/index.ts";
import { masked } from "../../variables/variable.ts";
import { gitUrlOf } from "../../builds/parameters.ts";
import { boundAnonymous } from "../../http/caller.ts";
import { refuse } from "../../http/index.ts";
import { originOf } from "../../token-origin.ts";
import { sendJson, uintOf } from "../../http/rest-api.ts";
import { Fields } from "../body.ts";
import { timesOf, tokenIdOf } from "../json.ts";
import { type ListFields, pageOf } from "../list-query.ts";
import type { SmallRecord } from "../small-records.ts";
import type { Api, ApiParts } from "./parts.ts";

export const providerJson = ({ id, members, object }: SmallRecord): JsonObject => ({
  ...timesOf(object),
  providerId: id,
  name: members["name"] ?? "",
  url: members["url"] ?? "",
  tokenId: Number(members["tokenId"] ?? 0),
});

const tokenJson = ({ id, members, object }: SmallRecord): JsonObject => ({
  ...timesOf(object),
  tokenId: id,
  token: masked,
  userName: members["userName"] ?? "",
});

/** Providers that the original imports from. */
const providerNames = ["azuredevops", "gitlab", "github"];

const member = (name: string) => (record: SmallRecord) => record.members[name] ?? "";

const providerFields: ListFields<SmallRecord> = {
  orders: { providerId: ({ id }) => id, name: member("name"), url: member("url") },
  usualOrder: "providerId",
  texts: { name: member("name"), url: member("url") },
  soft: ["name", "url"],
};

const tokenFields: ListFields<SmallRecord> = {
  orders: { tokenId: ({ id }) => id, userName: member("userName") },
  usualOrder: "tokenId",
  texts: { userName: member("userName") },
  soft: ["userName"],
};

export function addProviderRoutes(api: Api, { providers, tokens }: ApiParts): void {
  // The token must exist, so that a later one is not meant.
  const read = (fields: Fields) => {
    const [name, url, tokenId] = [fields.required("name"), fields.required("url"), fields.number("tokenId")];
    fields.done();
    if (!providerNames.includes(name)) {
      const found = JSON.stringify(name);
      throw refuse("provider/invalid-name", `name: expected one of ${providerNames.join(", ")}, found ${found}`, {
        parameter: "name",
      });
    }
    if (tokenId > 0) tokens.get(tokenId);
    return { name, url, tokenId: `${tokenId}` };
  };
  api.get("/api/provider", (context) => {
    const { list, totalCount } = pageOf(providers.list(), new URL(context.req.url).searchParams, providerFields);
    return sendJson(context, { list: list.map(providerJson), totalCount });
  });
  api.post("/api/provider", async (context) => {
    boundAnonymous(context, providers.list().length, "providers");
    return sendJson(context, providerJson(await providers.create(read(await Fields.read(context)))), 201);
  });
  api.get("/api/provider/:id", (context) =>
    sendJson(context, providerJson(providers.get(uintOf("providerId", context.req.param("id"))))),
  );
  api.put("/api/provider/:id", async (context) => {
    const id = uintOf("providerId", context.req.param("id"));
    const members = read(await Fields.read(context));
    const { url = "", tokenId } = providers.get(id).members;
    if (tokenId === members.tokenId && Number(tokenId) > 0 && originOf(url) !== originOf(members.url))
      throw refuse("invalid-param", `the provider's token is for ${originOf(url)}; name another token, or 0 for none`, {
        parameter: "url",
      });
    return sendJson(context, providerJson(await providers.update(id, members)));
  });
}

export function addTokenRoutes(api: Api, { tokens, providers, repository }: ApiParts): void {
  const originFor = (id: number): string | undefined => {
    const naming = repository.records.projects.list().filter((project) => tokenIdOf(project) === id);
    const [origin, ...more] = new Set(naming.map((project) => originOf(gitUrlOf(project))));
    return more.length > 0 || origin === "" ? undefined : origin;
  };
  const read = (fields: Fields) => ({ token: fields.required("token"), userName: fields.text("userName") });
  api.get("/api/token", (context) => {
    const { list, totalCount } = pageOf(tokens.list(), new URL(context.req.url).searchParams, tokenFields);
    return sendJson(context, { list: list.map(tokenJson), totalCount });
  });
  api.post("/api/token", async (context) => {
    boundAnonymous(context, tokens.list().length, "tokens");
    const fields = await Fields.read(context);
    const members = read(fields);
    const providerId = fields.number("providerId");
    fields.done();
    // Checked first: an error must not leave a token behind.
    const provider = providerId > 0 ? providers.get(providerId) : undefined;
    const token = await tokens.create(members);
    if (provider !== undefined) await providers.update(provider.id, { ...provider.members, tokenId: `${token.id}` });
    return sendJson(context, tokenJson(token), 201);
  });
  api.get("/api/token/:id", (context) =>
    sendJson(context, tokenJson(tokens.get(uintOf("tokenId", context.req.param("id"))))),
  );
  api.put("/api/token/:id", async (context) => {
    const id = uintOf("tokenId", context.req.param("id"));
    const fields = await Fields.read(context);
    const members = read(fields);
    fields.done();
    return sendJson(context, tokenJson(await tokens.update(id, members, originFor(id))));
  });
}
