//! Finds parts of a pull request that an answer omits without an error.

use forge_core::{Warning, model::PrFields};

use crate::{
    GitHub,
    gql::{
        fields::Section,
        types::{self as wire, Nodes},
    },
};

impl GitHub {
    /// Warns about requested lists, such as reviews, if the answer omits entries without an error.
    /// Without this warning, missing entries would look like an empty list.
    ///
    /// `said` are the warnings so far. A list that one of them is about gets no second warning.
    pub(super) fn missing_sections_warning(
        &self,
        pull: &wire::Pull,
        fields: PrFields,
        said: &[Warning],
    ) -> Vec<Warning> {
        fn has_gaps<T>(list: Option<&Nodes<T>>) -> bool {
            list.is_some_and(Nodes::has_gaps)
        }
        fn lacks_some<T>(list: &Nodes<T>) -> bool {
            list.nodes.iter().flatten().any(Option::is_none)
        }
        // The latest reviews and the latest opinions are in the same fragment. If an answer has
        // only one of the two lists, the other was omitted.
        let (latest, opinions) = (&pull.latest_reviews, &pull.latest_opinionated_reviews);
        let is_one_alone = latest.nodes.is_some() != opinions.nodes.is_some();
        let latest = is_one_alone || lacks_some(latest) || lacks_some(opinions);
        let threads = pull.review_threads.as_ref();
        let no_threads = threads.is_none() && fields.contains(PrFields::THREADS);
        let found = [
            (Section::Comments, has_gaps(pull.all_comments.as_ref())),
            (Section::Reviews, has_gaps(pull.reviews.as_ref())),
            (Section::Threads, no_threads || has_gaps(threads)),
            (Section::LatestReviews, latest),
        ];
        let gaps = found.into_iter().filter(|(_, gaps)| *gaps);
        let gaps = gaps.map(|(section, _)| section);
        gaps.filter(|section| !is_reported(*section, said))
            .map(|section| self.gap(section))
            .collect()
    }

    /// Warns if the latest reviews were requested, but the answer has neither of their two lists.
    /// Skips this warning if one of the warnings `said` is about the latest reviews.
    pub(super) fn missing_latest_warning(
        &self,
        pull: &wire::Pull,
        fields: PrFields,
        said: &[Warning],
    ) -> Option<Warning> {
        let unasked = [PrFields::ROW, PrFields::NO_LATEST_REVIEWS];
        let asked = !unasked.iter().any(|less| fields.contains(*less));
        let came =
            pull.latest_reviews.nodes.is_some() || pull.latest_opinionated_reviews.nodes.is_some();
        let section = Section::LatestReviews;
        (asked && !came && !is_reported(section, said)).then(|| self.gap(section))
    }

    fn gap(&self, section: Section) -> Warning {
        let (host, what) = (&self.info.host, section.title());
        Warning::new(format!("{host} left out some of the {what}"))
            .of_section(section.model_field())
            .with_hint("try again; if they are still missing, look at the page of the pull request")
    }
}

/// Returns whether one of `warnings` is about `section`.
pub(super) fn is_reported(section: Section, warnings: &[Warning]) -> bool {
    let name = Some(section.model_field());
    warnings.iter().any(|warning| warning.section == name)
}
