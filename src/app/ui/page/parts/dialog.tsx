import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

interface DialogProps {
  readonly title: string;
  readonly class?: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

/** Modal while it is in the page. The browser keeps the focus inside and gives it back. */
export function Dialog({ title, class: more = "", onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const { current } = dialog;
    const before = document.activeElement;
    if (current?.open === false) current.showModal();
    return () => {
      current?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const closeOutside = (event: MouseEvent): void => {
    if (event.target === dialog.current) onClose();
  };
  const onCancel = (event: Event): void => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} class={`dialog ${more}`} aria-label={title} onCancel={onCancel} onClick={closeOutside}>
      {children}
    </dialog>
  );
}
