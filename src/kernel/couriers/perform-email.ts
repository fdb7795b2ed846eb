import { connect, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import { isJsonObject, messageOf } from "#lib/base/index.ts";
import type { EffectAnswer, OutsideRequest } from "./courier.ts";
import type { EgressRules } from "./egress.ts";

export type EmailRequest = Extract<OutsideRequest, { kind: "email" }>;

const implicitTls = 465;
const limitMs = 30_000;

/**
 * TLS from the start on port 465, else STARTTLS if the server offers it. Without a password nobody logs in.
 * Until the text is sent, and after the server has refused it, nothing was delivered.
 */
export async function performEmail(request: EmailRequest, rules: EgressRules): Promise<EffectAnswer> {
  const refusal = rules.refusal(request.host);
  if (refusal !== undefined) return { ok: false, message: refusal };
  const { username: user, password: pass } = request;
  let isSent = false;
  const transport = createTransport({
    host: request.host,
    port: request.port,
    secure: request.port === implicitTls,
    // The connection goes to the address that was checked, not to what another look-up of the name gives.
    getSocket: (_options, done) => openSocket(request, rules, done),
    ...(pass === "" ? {} : { auth: { user, pass } }),
    connectionTimeout: limitMs,
    greetingTimeout: limitMs,
    socketTimeout: limitMs,
    debug: true,
    logger: listener((command) => (isSent ||= command === "DATA")),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    const { address, alias = "" } = request.from;
    await transport.sendMail({
      from: alias === "" ? address : { name: alias, address },
      to: [...request.to],
      subject: request.subject,
      // Bodies of mails are HTML.
      html: request.body,
    });
    return { ok: true, value: {} };
  } catch (thrown) {
    const message = `mail server ${request.host}:${request.port}: ${messageOf(thrown)}`;
    const isRefused = isJsonObject(thrown) && typeof thrown["responseCode"] === "number";
    return { ok: false, message, ...(isSent && !isRefused ? { isDone: true } : {}) };
  } finally {
    transport.close();
  }
}

/** Hears every command to the server. */
function listener(hear: (command: string) => void) {
  const ignore = () => undefined;
  const debug = (entry: unknown, text: unknown): void => {
    if (isJsonObject(entry) && entry["tnx"] === "client" && typeof text === "string") hear(text);
  };
  return { level: ignore, trace: ignore, debug, info: ignore, warn: ignore, error: ignore, fatal: ignore };
}

function openSocket(
  { host, port }: EmailRequest,
  { lookup }: EgressRules,
  done: (failure: Error | null, socket?: { readonly connection: Socket }) => void,
): void {
  const socket = connect({ host, port, lookup, timeout: limitMs });
  const fail = (failure: Error): void => {
    socket.destroy();
    done(failure);
  };
  const late = (): void => fail(new Error(`no connection within ${limitMs / 1000}s`));
  socket.once("error", fail);
  socket.once("timeout", late);
  socket.once("connect", () => {
    socket.off("error", fail);
    socket.off("timeout", late);
    done(null, { connection: socket });
  });
}
