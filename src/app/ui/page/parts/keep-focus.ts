/**
 * What has the focus may disappear with an update. Then the nearest thing around it that takes a focus gets it, or else
 * the heading, so that keyboards and screen readers go on where they were.
 */
export function keepFocus(root: HTMLElement): void {
  let last: Element | undefined;
  let around: readonly HTMLElement[] = [];
  root.addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return;
    last = target;
    const found: HTMLElement[] = [];
    for (let one = target.parentElement; one !== null && one !== root; one = one.parentElement)
      if (one.tabIndex >= 0 || one.hasAttribute("tabindex")) found.push(one);
    around = found;
  });
  new MutationObserver(() => {
    if (last === undefined || last.isConnected || document.activeElement !== document.body) return;
    const next = around.find(({ isConnected }) => isConnected) ?? root.querySelector<HTMLElement>("main h1");
    last = undefined;
    next?.focus({ preventScroll: true });
  }).observe(root, { childList: true, subtree: true });
}
