import type { Pages } from "#kernel/apiserver/index.ts";
import type { UiOptions } from "#app/ui/server/index.ts";

/** The web UI, loaded with its first request: a server whose UI is never opened pays nothing for it. */
export function lazyPages(options: () => Promise<UiOptions>): Pages {
  let ui: Promise<Pages> | undefined;
  const load = async () => {
    const [{ createUi }, parts] = await Promise.all([import("#app/ui/server/index.ts"), options()]);
    return createUi(parts);
  };
  return {
    async answer(call) {
      ui ??= load();
      await (await ui).answer(call);
    },
    // What could not be loaded was answered with, and has nothing to close.
    close: () =>
      void ui?.then(
        (loaded) => loaded.close(),
        () => undefined,
      ),
  };
}
