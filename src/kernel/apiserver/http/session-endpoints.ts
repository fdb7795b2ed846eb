import type { IncomingMessage } from "node:http";
import { ApiError, badRequest, unknownResource, unsupportedMediaType } from "#kernel/model/index.ts";
import { formatTime, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { Identity } from "../authz/identity.ts";
import type { Limits } from "../verbs/limits.ts";
import type { Authenticator } from "../authz/tokens.ts";
import type { Session, SessionProof, Sessions, Witness } from "../sessions/sessions.ts";
import { decodeJson, mediaTypeOf } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { readBody } from "./read-body.ts";
import { MethodNotAllowed } from "./resource-handler.ts";
import { jsonReply, type Reply } from "./respond.ts";

//   POST   /slipway/codes     with a token or a certificate: {code, until}, for whoever is to log in with it
//   POST   /slipway/session   {code}: logs in; the answer sets the cookie, and has the key of the session. Keeps a session
//                             of the same user; of another user it is replaced only with {code, replace: true}
//   GET    /slipway/session   who is logged in
//   DELETE /slipway/session   logs out
//
// The cookie is read here only, and only together with a header that forms and links cannot send: its value is the
// key.
// `sessionOf` admits requests of pages to other paths below /slipway.

const codesPath = "/slipway/codes";
const sessionPath = "/slipway/session";

/** With this prefix browsers send it to this very host over TLS only. */
const cookieName = "__Host-slipway-session";
const cookieRules = "Path=/; Secure; HttpOnly; SameSite=Strict";
/** Pages of other sites would need permission to send it. Any value will do to log in. */
const headerName = "x-slipway-request";
const maxCodeBodyBytes = 1024;

export interface SessionServer {
  readonly sessions: Sessions;
  readonly authenticator: Authenticator;
  readonly limits: Limits;
}

/** `identity` is known when the caller showed credentials or a session. */
export interface SessionReply {
  readonly reply: Reply;
  readonly identity?: Identity;
}

export const isSessionPath = (path: string): boolean => path === codesPath || path === sessionPath;

/** Answers `isSessionPath`. Refuses wrong codes (401, 429 after ten in a second) and a missing header (403). */
export async function sessionReply(
  server: SessionServer,
  exchange: Exchange,
  caller: () => { readonly identity: Identity; readonly witness: Witness | undefined },
): Promise<SessionReply> {
  const { path, request } = exchange;
  const method = request.method ?? "";
  if (path === codesPath) {
    if (method !== "POST") throw new MethodNotAllowed(method, ["POST"]);
    return issueCode(server, caller());
  }
  if (path !== sessionPath) throw unknownResource();
  if (!isFromPage(request)) throw headerMissing(sessionPath);
  switch (method) {
    case "POST":
      return login(server, exchange);
    case "GET":
      return whoAmI(server, exchange);
    case "DELETE":
      return logout(server, exchange);
    default:
      throw new MethodNotAllowed(method, ["GET", "POST", "DELETE"]);
  }
}

/** Account tokens expire before a session, and an impersonator has shown no credential of that user. */
function issueCode(
  { sessions }: SessionServer,
  { identity, witness }: { readonly identity: Identity; readonly witness: Witness | undefined },
): SessionReply {
  if (witness === undefined) {
    const who = JSON.stringify(identity.user);
    throw new ApiError(
      "Forbidden",
      `${who} cannot have a session: only a user's own token or certificate can open one`,
    );
  }
  const { code, until } = sessions.issueCode(witness);
  return { identity, reply: jsonReply({ code, until: formatTime(until) }, 201) };
}

async function login({ sessions, authenticator, limits }: SessionServer, exchange: Exchange): Promise<SessionReply> {
  const { request } = exchange;
  const type = mediaTypeOf(request) ?? "";
  if (type !== "application/json") throw unsupportedMediaType(type, ["application/json"]);
  const body = await readBody(exchange, { ...limits, maxBodyBytes: maxCodeBodyBytes });
  const { value } = decodeJson(body.joined(), limits.maxDepth);
  const code = isJsonObject(value) ? value["code"] : undefined;
  if (typeof code !== "string") throw badRequest(`code: expected the text that "slipway ui" has printed`);
  const proof = proofIn(request);
  const present = proof === undefined ? undefined : sessions.find(proof);
  const owner = sessions.ownerOf(code);
  if (present !== undefined && owner !== undefined && owner.user !== present.identity.user && !isReplacing(value))
    throw new ApiError(
      "Conflict",
      `this link logs in as ${JSON.stringify(owner.user)}, and you are logged in as ${JSON.stringify(present.identity.user)}`,
    );
  const session = sessions.redeem(code);
  if (session !== undefined && present !== undefined && isSame(session.identity, present.identity)) {
    sessions.end(session);
    return answerOf(present);
  }
  if (session === undefined) throw authenticator.refusal(request.socket.remoteAddress ?? "");
  const { reply } = answerOf(session, { key: session.key });
  return {
    identity: session.identity,
    reply: { ...reply, code: 201, headers: { "Set-Cookie": `${cookieName}=${session.secret}; ${cookieRules}` } },
  };
}

const isSame = (a: Identity, b: Identity): boolean =>
  JSON.stringify([a.user, a.groups]) === JSON.stringify([b.user, b.groups]);

const isReplacing = (body: JsonValue | undefined): boolean => isJsonObject(body) && body["replace"] === true;

const whoAmI = (server: SessionServer, { request }: Exchange): SessionReply =>
  answerOf(findSession(server, request).session);

/** The header that only our own pages can send. */
export const isFromPage = ({ headers }: IncomingMessage): boolean => headers[headerName] !== undefined;

const headerMissing = (path: string): ApiError =>
  new ApiError("Forbidden", `requests to ${path} carry the header ${headerName}, and this one does not`);

/** The session of a page's request, or 401; 403 without the header. `proof` identifies its user again. */
export function sessionOf(
  server: Pick<SessionServer, "sessions" | "authenticator">,
  request: IncomingMessage,
  path: string,
): { readonly identity: Identity; readonly proof: Witness } {
  if (!isFromPage(request)) throw headerMissing(path);
  const { session, proof } = findSession(server, request);
  return { identity: session.identity, proof: () => server.sessions.find(proof)?.identity };
}

function findSession(
  { sessions, authenticator }: Pick<SessionServer, "sessions" | "authenticator">,
  request: IncomingMessage,
): { readonly session: Session; readonly proof: SessionProof } {
  const proof = proofIn(request);
  if (proof === undefined) throw new ApiError("Unauthorized", "Unauthorized");
  const session = sessions.find(proof);
  if (session !== undefined) return { session, proof };
  throw authenticator.refusal(request.socket.remoteAddress ?? "");
}

/** Also clears the cookie. Succeeds without a session. */
function logout({ sessions }: SessionServer, { request }: Exchange): SessionReply {
  const proof = proofIn(request);
  const session = proof === undefined ? undefined : sessions.find(proof);
  const reply = jsonReply({ ended: proof !== undefined && sessions.end(proof) });
  return {
    ...(session === undefined ? {} : { identity: session.identity }),
    reply: { ...reply, headers: { "Set-Cookie": `${cookieName}=; Max-Age=0; ${cookieRules}` } },
  };
}

function answerOf({ identity, until }: Session, more: JsonObject = {}): SessionReply {
  const who: JsonObject = { user: identity.user, groups: [...identity.groups], until: formatTime(until), ...more };
  return { identity, reply: jsonReply(who) };
}

function proofIn({ headers }: IncomingMessage): SessionProof | undefined {
  const [secret, key] = [secretIn(headers.cookie), headers[headerName]];
  return secret === undefined || typeof key !== "string" || key.length > 100 ? undefined : { secret, key };
}

/** RFC 6265 4.2: pairs separated by semicolons; the first one of the name counts. */
function secretIn(header: string | undefined): string | undefined {
  const pair = header?.split(";").find((one) => one.trim().startsWith(`${cookieName}=`));
  const secret = pair?.trim().slice(cookieName.length + 1);
  return secret === undefined || secret === "" || secret.length > 100 ? undefined : secret;
}
