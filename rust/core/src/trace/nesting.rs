//! Which spans are inside of which.

/// Parents of spans, by place, of which none leads in a circle.
pub struct Nesting {
    pub parents: Vec<Option<usize>>,
    /// How many spans are around each.
    pub depths: Vec<usize>,
    /// All places, those of parents before those of what is inside them.
    pub outer_first: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Seen {
    Not,
    OnTheWay,
    Done,
}

impl Nesting {
    /// Each parent is the place of another span. The first span of a circle counts as having none.
    pub fn new(mut parents: Vec<Option<usize>>) -> Nesting {
        let mut depths = vec![0; parents.len()];
        let mut outer_first = Vec::with_capacity(parents.len());
        let mut seen = vec![Seen::Not; parents.len()];
        let mut path = Vec::new();
        for start in 0..parents.len() {
            let mut next = Some(start);
            while let Some(place) = next.filter(|&place| seen[place] == Seen::Not) {
                seen[place] = Seen::OnTheWay;
                path.push(place);
                next = parents[place];
            }
            let meets = next.and_then(|place| path.iter().position(|&on_path| on_path == place));
            if let Some(circle) = meets.and_then(|begin| path.get_mut(begin..))
                && let Some((cut, &first)) = circle.iter().enumerate().min_by_key(|(_, place)| **place)
            {
                parents[first] = None;
                circle.rotate_left(cut + 1);
            }
            for place in path.drain(..).rev() {
                seen[place] = Seen::Done;
                depths[place] = parents[place].map_or(0, |outer| depths[outer] + 1);
                outer_first.push(place);
            }
        }
        Nesting { parents, depths, outer_first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_cut_at_their_first_span() {
        for (parents, depths) in [
            (vec![], vec![]),
            (vec![Some(0)], vec![0]),
            (vec![Some(1), None, Some(0)], vec![1, 0, 2]),
            (vec![Some(1), Some(2), Some(0)], vec![0, 2, 1]),
            // 0 is inside of a circle of the others, entered at its last.
            (vec![Some(3), Some(2), Some(3), Some(1)], vec![2, 0, 2, 1]),
            (vec![Some(1), Some(0), Some(3), Some(2), Some(3)], vec![0, 1, 0, 1, 2]),
        ] {
            let nesting = Nesting::new(parents.clone());
            assert_eq!(nesting.depths, depths, "{parents:?}");
            let mut all = nesting.outer_first.clone();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..parents.len()), "{parents:?}");
            for (at, place) in nesting.outer_first.iter().enumerate() {
                let known = &nesting.outer_first[..at];
                assert!(nesting.parents[*place].is_none_or(|outer| known.contains(&outer)), "{parents:?}");
            }
        }
    }

    #[test]
    fn a_long_way_up_takes_no_longer() {
        let count = 200_000;
        let up = (0..count).map(|place| Some((place + 1) % count)).collect();
        assert_eq!(Nesting::new(up).depths[1], count - 1);
        let down = (0..count).map(|place: usize| place.checked_sub(1)).collect();
        assert_eq!(Nesting::new(down).depths[count - 1], count - 1);
    }
}
