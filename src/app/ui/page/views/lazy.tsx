import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { Failure, Loading } from "../parts/states.tsx";

/** A component whose code is loaded when it is first shown. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | undefined;
  return function Lazy(props: P) {
    const failure = useSignal<unknown>(undefined);
    const isHere = useSignal(loaded !== undefined);
    const open = (): void => {
      load().then(
        (component) => {
          loaded = component;
          isHere.value = true;
        },
        (thrown: unknown) => {
          failure.value = thrown;
        },
      );
    };
    useLayoutEffect(() => {
      if (loaded === undefined) open();
    }, []);
    if (failure.value !== undefined) return <Failure thrown={failure.value} onRetry={open} />;
    const Component = isHere.value ? loaded : undefined;
    return Component === undefined ? <Loading what="this part of the page" /> : <Component {...props} />;
  };
}
