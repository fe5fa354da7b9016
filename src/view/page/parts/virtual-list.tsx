import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Heights } from "./heights.ts";

/** How far beyond the window rows are drawn, in pixels. */
const BEYOND = 900;
/** The height that the page's fixed heads cover at the top of the window. */
const COVERED = 104;

export interface ListHandle {
  scrollTo: (index: number) => void;
}

interface Props {
  count: number;
  /** A guess of a row's height until the row is drawn. */
  estimate: (index: number) => number;
  row: (index: number) => ComponentChildren;
  /** Called with the rows in the window. */
  onShow: (first: number, last: number) => void;
  /** The row to begin with; undefined to begin at the top of the page. */
  start: number | undefined;
  handle: { current: ListHandle | null };
}

/**
 * A list that draws only the rows in the window. The row at the top of the window stays where it is when rows above it turn out
 * higher or lower than was guessed.
 */
export function VirtualList({ count, estimate, row, onShow, start, handle }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const window_ = useRef<HTMLDivElement>(null);
  const known = useRef<Heights | undefined>(undefined);
  const heights = useMemo(() => {
    const before = known.current;
    known.current = new Heights(count, (index) =>
      before !== undefined && index < before.count ? before.heightOf(index) : estimate(index),
    );
    return known.current;
  }, [count]);
  const anchor = useRef(start === undefined ? undefined : { index: start, inner: -COVERED - 8 });
  /** Where the page stood when the anchor was taken. Elsewhere means that somebody has scrolled, and the event is still to come. */
  const anchoredAt = useRef(scrollY);
  const rowsBetween = (top: number, bottom: number): [first: number, end: number] => [
    heights.indexAt(Math.max(0, top - BEYOND)),
    Math.min(count, heights.indexAt(bottom + BEYOND) + 1),
  ];
  const [range, setRange] = useState(() => {
    const top = heights.offsetOf(start ?? 0);
    return rowsBetween(top, top + innerHeight);
  });
  const rangeNow = useRef(range);

  const offset = (): number => -list.current!.getBoundingClientRect().top;

  const takeAnchor = (): void => {
    if (Math.abs(scrollY - anchoredAt.current) < 1) return;
    const top = offset();
    const index = heights.indexAt(Math.max(0, top + COVERED));
    anchor.current = { index, inner: top - heights.offsetOf(index) };
    anchoredAt.current = scrollY;
  };

  const place = (): void => {
    takeAnchor();
    list.current!.style.height = `${heights.total}px`;
    window_.current!.style.transform = `translateY(${heights.offsetOf(rangeNow.current[0])}px)`;
    if (anchor.current === undefined) return;
    const { index, inner } = anchor.current;
    const missing = heights.offsetOf(index) + inner - offset();
    // At the top of the page, the heads stay in view.
    if (Math.abs(missing) < 1 || (index === 0 && inner <= 0 && scrollY + missing <= 0)) return;
    scrollBy(0, missing);
    anchoredAt.current = scrollY;
  };

  const see = (): void => {
    if (list.current === null) return; // an event came before the listeners of a removed list were gone
    const top = offset();
    const [first, end] = rowsBetween(top, top + innerHeight);
    onShow(heights.indexAt(Math.max(0, top + COVERED + 12)), heights.indexAt(top + innerHeight));
    const [from, to] = rangeNow.current;
    if (first === from && end === to) return;
    rangeNow.current = [first, end];
    setRange([first, end]);
  };

  useEffect(() => {
    const onScroll = () => {
      if (list.current !== null) takeAnchor();
      see();
    };
    addEventListener("scroll", onScroll, { passive: true });
    addEventListener("resize", see);
    return () => {
      removeEventListener("scroll", onScroll);
      removeEventListener("resize", see);
    };
  }, [heights]);

  handle.current = {
    scrollTo: (index) => {
      anchor.current = { index, inner: -COVERED - 8 };
      anchoredAt.current = scrollY;
      place();
      see();
    },
  };

  const sizes = useMemo(() => {
    return new ResizeObserver((entries) => {
      let isChanged = false;
      for (const { target } of entries) {
        const index = Number((target as HTMLElement).dataset.index);
        if (target.isConnected && known.current!.set(index, (target as HTMLElement).offsetHeight)) isChanged = true;
      }
      if (isChanged) latest.current();
    });
  }, []);
  const latest = useRef(() => {});
  latest.current = () => {
    place();
    see();
  };
  useEffect(() => () => sizes.disconnect(), []);
  useLayoutEffect(() => {
    rangeNow.current = range;
    place();
  });
  useLayoutEffect(() => see(), [heights]);

  const rows = [];
  for (let index = range[0]; index < Math.min(range[1], count); index++) {
    rows.push(
      <Row key={index} index={index} sizes={sizes}>
        {row(index)}
      </Row>,
    );
  }
  return (
    <div class="list" ref={list}>
      <div class="list-window" ref={window_}>
        {rows}
      </div>
    </div>
  );
}

function Row({ index, sizes, children }: { index: number; sizes: ResizeObserver; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const row = element.current!;
    sizes.observe(row);
    return () => sizes.unobserve(row);
  }, []);
  return (
    <div ref={element} data-index={index}>
      {children}
    </div>
  );
}
