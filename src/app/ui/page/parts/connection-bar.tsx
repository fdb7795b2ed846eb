import { useSignal } from "@preact/signals";
import type { TargetedSubmitEvent } from "preact";
import { connection, foreignLink, login, stream } from "../data/server.ts";
import { formatSpan, now } from "../data/time.ts";

/** Above everything while the server is lost or there is no session. What is on the page stays readable. */
export function ConnectionBar() {
  const state = connection.value;
  if (foreignLink.value !== undefined) return <ForeignLink {...foreignLink.value} />;
  switch (state.is) {
    case "lost": {
      const retryIn = Math.max(0, Math.ceil((state.retryAt - now.value) / 1000));
      return (
        <div class="connection-bar" role="status">
          <strong>Disconnected</strong>
          <span>
            for {formatSpan(now.value - state.since)}: {state.message}. What you see is from before.
          </span>
          <span class="muted" aria-hidden="true">
            {retryIn === 0 ? "Trying again…" : `Next try in ${retryIn}s`}
          </span>
          <button type="button" onClick={() => stream.retryNow()}>
            Try now
          </button>
        </div>
      );
    }
    case "away":
      return (
        <div class="connection-bar" role="status">
          <strong>The cluster does not answer</strong>
          <span>
            for {formatSpan(now.value - state.since)}: {state.message}. What you see is from before. The page follows
            again when it is back.
          </span>
        </div>
      );
    case "signed-out":
      return <SignIn message={state.message} />;
    case "connecting":
    case "online":
      return null;
  }
}

/** Whoever made the link would see what is done with its session. */
function ForeignLink({ code, message }: { readonly code: string; readonly message: string }) {
  const failure = useSignal("");
  const replace = (): void => {
    login(code, true).then(
      () => location.reload(),
      (thrown: unknown) => {
        failure.value = thrown instanceof Error ? thrown.message : String(thrown);
      },
    );
  };
  return (
    <div class="connection-bar" role="status">
      <strong>Another user's link</strong>
      <span>{message}.</span>
      <button
        type="button"
        onClick={() => {
          foreignLink.value = undefined;
        }}
      >
        Stay logged in
      </button>
      <button type="button" onClick={replace}>
        Log in with the link
      </button>
      <Wrong message={failure.value} />
    </div>
  );
}

function Wrong({ message }: { readonly message: string }) {
  return message === "" ? null : (
    <span class="wrong" role="alert">
      {message}
    </span>
  );
}

function SignIn({ message }: { readonly message: string }) {
  const failure = useSignal("");
  const submit = async (event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault();
    const code = new FormData(event.currentTarget).get("code");
    try {
      await login(typeof code === "string" ? code.trim() : "");
      location.reload();
    } catch (thrown) {
      failure.value = thrown instanceof Error ? thrown.message : String(thrown);
    }
  };
  return (
    <div class="connection-bar" role="status">
      <strong>Not logged in</strong>
      <span>
        {message === "Unauthorized" ? "" : `${message}. `}Run <code>slipway ui</code> and open the link that it prints,
        or enter its code:
      </span>
      <form onSubmit={(event) => void submit(event)}>
        <input name="code" aria-label="One-time code" autoComplete="off" spellcheck={false} required />
        <button type="submit">Log in</button>
      </form>
      <Wrong message={failure.value} />
    </div>
  );
}
